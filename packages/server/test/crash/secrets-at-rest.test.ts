// R10: after runs that do all they can to spread their secrets, nothing that is kept has one, or a credential.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { CREDENTIAL_KINDS, parseCredential } from "@keelson/contract";
import { quoteIdentifier, rawSql, sql } from "../../src/db/sql.ts";
import { startMailbox, type Mailbox } from "../support/mailbox.ts";
import { bundleOf } from "./support/bundle.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { until } from "../support/until.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";
import { useCredentials } from "./support/use-credentials.ts";

/** What is kept, and must be found. */
const CONTROL = `control-${randomBytes(8).toString("hex")}`;
const NAMES = ["TOKEN", "PEM", "LONG"] as const;
const values = {
  TOKEN: `sk-${randomBytes(16).toString("hex")}`,
  PEM: `-----BEGIN KEY-----\n${randomBytes(48).toString("base64")}\n-----END KEY-----\n`,
  // More than is kept in the row itself.
  LONG: randomBytes(24_000).toString("hex"),
};

/** Says every value in every way that a run has, its own credential too, which it first uses and tells the listener. */
const spread = (listener: string): string => `
  const { url, credential } = input.access;
  for (const path of ["/api/me", "/v1/runs/" + credential, "/v1/runs?cursor=" + credential])
    await fetch(url + path, { headers: { authorization: "Bearer " + credential } });
  await fetch(${JSON.stringify(listener)}, { method: "POST", body: credential });
  for (const [name, value] of [...Object.entries(input.secrets), ["RUN", credential]]) {
    console.log(name + "=" + value);
    console.error(JSON.stringify({ [name]: value }));
    for (const half of [value.slice(0, 7), value.slice(7) + "\\n"]) { process.stdout.write(half); await tick(20); }
    input.host.event({ kind: "step.completed", message: value.slice(0, 3000), attributes: { value } });
  }
  const all = [...Object.values(input.secrets), credential].join(" ");
  const failed = { name: "Error", message: "step refused " + all, stack: "Error: " + all, code: null };
  await input.host.call({ kind: "steps", entries: [{ position: 1, kind: "step", name: "login", error: failed }] });
  // Again and again, as the agent may take its time to hear of the end.
  for (let word = 1; word <= 50; word += 1)
    setTimeout(() => console.log("afterwards " + input.secrets.TOKEN + " " + credential), word * 30);
  const error = new Error("refused " + all);
  error.cause = input.secrets;
  throw error;`;

let mailbox: Mailbox;
let site: Site;
let server: ServerProcess;
let agent: SpawnedProcess;
/** Hears from the runs by which credentials they act. */
let listener: { url: string; heard: string[]; close(): Promise<void> };

async function startListener(): Promise<typeof listener> {
  const heard: string[] = [];
  const http = createServer((request, response) => {
    void text(request).then((body) => {
      heard.push(body);
      response.end();
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  const close = async (): Promise<void> => {
    http.closeAllConnections();
    http.close();
    await once(http, "close");
  };
  return { url: `http://127.0.0.1:${port}/`, heard, close };
}

before(async () => {
  mailbox = await startMailbox();
  site = await startSite({
    servers: 1,
    leaseDuration: "15s",
    logLevel: "debug",
    smtpUrl: mailbox.url,
  });
  [server] = site.servers as [ServerProcess];
  agent = site.agent({ name: "agent 1", server, capacity: 2 });
  await agent.start();
  const tasks = (["exclusive", "shared"] as const).map((execution) => ({
    id: execution,
    execution,
    secrets: NAMES,
  }));
  listener = await startListener();
  const body = spread(listener.url);
  const bundle = bundleOf({ exclusive: body, shared: body });
  await promoteWhenReady(site, await createDeployment(site, bundle, tasks));
});
after(async () => {
  await site?.stop();
  await listener?.close();
  await mailbox?.stop();
});

/** Each way in which a text may stand where bytes are kept. */
const formsOf = (value: string): string[] => {
  const bytes = Buffer.from(value);
  // The middle of the base64 of a longer text with it: the same for one of three beginnings.
  const inBase64 = [0, 1, 2].map((skip) => bytes.subarray(skip).toString("base64").slice(4, -8));
  return [value, JSON.stringify(value).slice(1, -1), bytes.toString("hex"), ...inBase64];
};

async function dumpDatabase(): Promise<string> {
  const tables = await site.db.query<{ name: string }>(sql`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`);
  assert.ok(tables.some(({ name }) => name === "secret_versions"));
  const rows = await Promise.all(
    tables.map(({ name }) =>
      site.db.query<{ row: string }>(rawSql(`SELECT t::text AS row FROM ${quoteIdentifier(name)} t`)),
    ),
  );
  return rows
    .flat()
    .map(({ row }) => row)
    .join("\n");
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

const call = (method: string, path: string, body?: object) =>
  site.call(server.url, method, path, body === undefined ? {} : { body });

/** Runs that spread what they are given, and all that is answered about them. */
async function runAndRead(): Promise<string[]> {
  const answers: string[] = [];
  const body = { retry: { max_attempts: 1 }, tags: [CONTROL] };
  for (const task of ["exclusive", "shared"]) {
    const started = await call("POST", `/v1/tasks/${task}/start`, body);
    const id = started.body.id as string;
    await until(
      "the run has failed",
      30_000,
      async () => (await call("GET", `/v1/runs/${id}`)).body.status === "failed",
    );
    for (const path of ["", "/events?limit=200", "/logs?limit=200"])
      answers.push(JSON.stringify((await call("GET", `/v1/runs/${id}${path}`)).body));
    const { stdout, stderr } = (await call("GET", `/api/runs/${id}/logs`)).body as Record<string, string>;
    for (const output of [stdout, stderr]) answers.push(Buffer.from(output ?? "", "base64").toString());
  }
  assert.ok(
    answers.some((text) => text.includes("TOKEN=[redacted]")),
    "the run said nothing",
  );
  assert.ok(answers.some((text) => text.includes("refused [redacted] [redacted] [redacted] [redacted]")));
  // What a process says after its run ends in the agent's own log.
  await until("the agent has heard it", 30_000, () =>
    Promise.resolve(agent.output().includes("afterwards [redacted] [redacted]")),
  );
  return answers;
}

/** What is answered to those who set secrets, well and badly. */
async function refuseAndList(): Promise<string[]> {
  const wrong = { value: [values.TOKEN], other: values.TOKEN };
  const answers = [
    await call("POST", "/v1/secrets", { name: "TOKEN", value: values.TOKEN }),
    await call("PUT", "/api/secrets/TOKEN", wrong),
    await call("GET", "/v1/secrets"),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [409, 400, 200],
  );
  return answers.map(({ body }) => JSON.stringify(body));
}

/** Everything that is kept anywhere, by its place. */
async function collectPlaces(answers: readonly string[]): Promise<Map<string, Buffer | string>> {
  const places = new Map<string, Buffer | string>([
    ["answers", answers.join("\n")],
    ["the metrics", await (await fetch(`${server.url}/metrics`)).text()],
    ["the database", await dumpDatabase()],
    ["the server's log", server.output()],
    ["the agent's log", agent.output()],
  ]);
  await site.db.query(rawSql("CHECKPOINT"));
  const files = (await filesBelow(site.dir)).filter((file) => !file.endsWith("credentials.json"));
  for (const file of files) places.set(file, await readFile(file).catch(() => ""));
  return places;
}

test("no value and no credential is in the database, its files, blobs, logs, events, errors or metrics", async () => {
  for (const name of NAMES) {
    assert.equal((await call("PUT", `/api/secrets/${name}`, { value: `${values[name]}old` })).status, 201);
    assert.equal((await call("PUT", `/api/secrets/${name}`, { value: values[name] })).status, 200);
  }
  const { api_key, user_token, admin_key, capacity_key, enrollment_token } = site.credentials;
  const firstOnes = { api_key, user_token, admin_key, capacity_key, enrollment_token };
  const credentials = { ...firstOnes, ...(await useCredentials(site, server, mailbox)) };
  const answers = [...(await runAndRead()), ...(await refuseAndList())];
  const [first_run, second_run] = listener.heard as [string, string];
  const all = { ...credentials, first_run, second_run };
  const kinds = new Set(Object.values(all).map(parseCredential));
  for (const kind of Object.values(CREDENTIAL_KINDS))
    assert.ok(kinds.has(kind), `none of kl_${kind}_ was used`);
  const places = await collectPlaces(answers);

  const wanted: Record<string, string> = { ...values, ...all };
  const found = Object.entries(wanted).flatMap(([name, value]) =>
    formsOf(value).flatMap((form) =>
      [...places].flatMap(([place, content]) => (content.includes(form) ? [`${name} in ${place}`] : [])),
    ),
  );
  const bytes = [...places.values()].reduce((sum, content) => sum + content.length, 0);
  console.log(
    `${Object.keys(wanted).length} secrets and credentials looked for in ${places.size} places, ${(bytes / 1e6).toFixed(0)} MB: ${found.length} found`,
  );
  assert.deepEqual(found, []);
  const holdControl = [...places].filter(([, content]) => content.includes(CONTROL)).length;
  assert.ok(holdControl > 2, "the search does not find what is there");
});
