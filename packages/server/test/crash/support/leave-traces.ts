/**
 * Code of a task that leaves everything it can, lists everything that it finds, and acts by every client that it has. It is
 * given `{ mark, round, secret }`, where a round begins when the runs of earlier ones have ended.
 */
export const LEAVE_TRACES = `
import { Client, task } from "@keelson/sdk";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { inspect } from "node:util";

const ofModule = new Client();
let ofFirstRun;
let ofFirstSecret;
let count = 0;
const memory = [];
/** What earlier runs of the process kept on purpose: their clients, and the credential that these showed. */
const kept = [];
const tick = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const filesOf = (folder) => readdirSync(folder).map((name) => readFileSync(folder + "/" + name, "utf8"));
const look = () => [
  ...memory, ...(globalThis.left ?? []), ...Object.values(process.env), process.title, ...process.argv,
  readFileSync("/proc/self/environ", "latin1").replaceAll("\\0", "\\n"), ...filesOf(process.cwd()), ...filesOf(tmpdir()),
];
const leave = (text) => {
  count += 1;
  memory.push(text);
  (globalThis.left ??= []).push(text);
  process.env["LEFT_" + count] = text;
  process.title = text.slice(0, 60);
  writeFileSync("left-" + count, text);
  writeFileSync(tmpdir() + "/left-" + count, text);
};
const shown = (...values) =>
  values.map((value) => inspect(value, { depth: 6, showHidden: true, maxArrayLength: null, maxStringLength: null }));
const tokensIn = (texts) => [...new Set(texts.flatMap((text) => text.match(/kl_run_[0-9A-Za-z]{84}/g) ?? []))];
const me = (client) => client.request({ method: "GET", path: "/api/me" });

/** As which run a client acts, where, and which environments it reads. */
async function actBy(client) {
  const { run } = await me(client);
  const { runs } = await client.request({ method: "GET", path: "/v1/runs?limit=20" });
  return { run: run.id, environment: run.environment_id, reads: [...new Set(runs.map((row) => row.environment_id))] };
}

let triedIn = 0;
/** What the server, or the client itself, says to those of a run that has ended. Once a round: wrong credentials are limited. */
async function useKept(round) {
  const answers = [];
  const last = triedIn === round ? undefined : kept.findLast((one) => one.round < round);
  triedIn = round;
  if (last !== undefined) {
    const { client, token, url } = last;
    const answer = await fetch(url, { headers: { authorization: "Bearer " + token, "service-api-version": "2026-06-06" } });
    answers.push(answer.status, await me(client).then(() => "taken", () => "refused"));
  }
  return answers;
}

async function traces({ mark, round }, ctx) {
  ofFirstRun ??= new Client();
  ofFirstSecret ??= ctx.secrets.KEY;
  const found = { pid: process.pid, secret: ctx.secrets.KEY, client: ofFirstSecret, earlier: look(), seen: [] };
  leave(mark + " " + ctx.secrets.KEY);
  const clients = [ofModule, ofFirstRun, new Client(), ctx.client];
  found.acts = [];
  for (const client of clients) found.acts.push(await actBy(client));
  found.started = (await clients[count % clients.length].tasks.start("leaf", mark)).id;
  let token, url;
  await me(new Client({ fetch: (to, init) => {
    [token, url] = [init.headers.authorization.slice(7), String(to)];
    return fetch(to, init);
  } }));
  found.kept = await useKept(round);
  await tick(20);
  found.seen = look();
  found.own = token;
  found.tokens = tokensIn([...found.earlier, ...found.seen, ...shown(globalThis, process.env, ...clients, ctx)]);
  kept.push({ client: ctx.client, token, url, round });
  return found;
}

export const exclusive = task({ id: "exclusive", execution: "exclusive", secrets: ["KEY"], run: traces });
export const shared = task({ id: "shared", execution: "shared", secrets: ["KEY"], run: traces });
export const leaf = task({ id: "leaf", execution: "shared", run: () => null });
`;
