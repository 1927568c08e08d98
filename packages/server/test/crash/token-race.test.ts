// Callers complete one token at once, by all four ways, half of them with other data, at two servers of which one is killed,
// or loses its database, at the boundary of each statement. What all callers saw must be the history of a register that is
// written once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer } from "./support/caller.ts";
import { checkLinearizable, type Call } from "./support/check-linearizable.ts";
import type { SentStatement } from "./support/postgres-messages.ts";
import { startPostgresProxy, type Breakpoint, type PostgresProxy } from "./support/postgres-proxy.ts";
import { fewOf, newSeed, seededRandom, type Random } from "../support/seeded-random.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import { letPass, until } from "../support/until.ts";
import {
  CANCELLED,
  writeOnceRegister,
  type RegisterInput,
  type RegisterOutput,
} from "./support/write-once-register.ts";

const CALLERS = 8;
const CALLERS_UNDISTURBED = 16;
const DATA = ["yes", "no"] as const;
/** A breakpoint that no caller ran into is set again. */
const MAX_TRIES = 4;

let site: Site;
const proxies: PostgresProxy[] = [];
before(async () => {
  site = await startSite({
    servers: 2,
    leaseDuration: "15s",
    // After each failure they are opened again.
    poolSize: 4,
    databaseUrlOf: async (url) => {
      const proxy = await startPostgresProxy(url);
      proxies.push(proxy);
      return proxy.url;
    },
  });
});
after(async () => {
  await site?.stop();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

const writes = ({ text }: { text: string }): boolean =>
  /UPDATE tokens t SET status = '(completed|cancelled)'/.test(text);
const isIn = (statement: SentStatement): boolean => statement.earlier.some((text) => writes({ text }));
const looksAgain = (text: string): boolean => /^SELECT\s.*FROM tokens t WHERE/s.test(text);
const readsWaits = (text: string): boolean => /FROM run_waits w WHERE .* w\.token_id = /.test(text);
/** Completions share a transaction: it has a winner when it looks for who waits. */
const isWinner = ({ earlier }: SentStatement): boolean => earlier.some(readsWaits);

/** How a secret is checked. */
const LOOK_UPS: Record<string, Breakpoint["matches"]> = {
  "look-up of a browser's token": ({ text }) => /FROM tokens WHERE public_digest/.test(text),
  "look-up of a callback": ({ text }) => /FROM tokens WHERE id = \$1 AND callback_digest/.test(text),
};

/** The statements of a completion, in their order. */
const STATEMENTS: Record<string, Breakpoint["matches"]> = {
  begin: ({ text }) => text === "BEGIN",
  update: writes,
  "second look": (statement) => isIn(statement) && looksAgain(statement.text),
  "look for who waits": (statement) => isIn(statement) && readsWaits(statement.text),
  "commit of a loser": (statement) => statement.text === "COMMIT" && isIn(statement) && !isWinner(statement),
  "commit of the winner": (statement) =>
    statement.text === "COMMIT" && isIn(statement) && isWinner(statement),
};

type Token = { id: string; public_access_token: string; callback_url: string };
type TokenCall = Call<RegisterInput, RegisterOutput>;
type Failure = "server killed" | "connections cut";

const totals = { rounds: 0, calls: 0, lost: 0, reads: 0, steps: 0, "server killed": 0, "connections cut": 0 };
const secrets: string[] = [];

/** The ways to complete a token; every second caller writes the same object in another order. */
function send(token: Token, caller: number, input: RegisterInput, url: string): Promise<Answer> {
  if (input.kind === "cancel") return site.call(url, "POST", `/v1/tokens/${token.id}/cancel`);
  if (input.kind === "read") return site.call(url, "GET", `/v1/tokens/${token.id}`);
  const data = caller % 3 === 0 ? { choice: input.data, by: [1] } : { by: [1], choice: input.data };
  switch (caller % 4) {
    case 0:
      return site.call(url, "POST", `/v1/tokens/${token.id}/complete`, { body: { data } });
    case 1: {
      const { user_token: as, project_id, environment_id } = site.credentials;
      return site.call(url, "POST", `/api/tokens/${token.id}/complete`, {
        as,
        body: { data, project_id, environment_id },
      });
    }
    case 2: {
      const as = token.public_access_token;
      return site.call(url, "POST", `/api/v1/tokens/${token.id}/complete`, { as, body: { data } });
    }
    default:
      return site.call(url, "POST", new URL(token.callback_url).pathname, { body: data });
  }
}

/** What an answer says; null when it says that nobody knows. */
function toOutput(input: RegisterInput, { status, body }: Answer): RegisterOutput | null {
  if (status === 503) return null;
  if (input.kind === "read") {
    assert.equal(status, 200, JSON.stringify(body));
    return { kind: "read", data: body.status === "cancelled" ? CANCELLED : (body.data?.choice ?? null) };
  }
  const kind = status === 200 ? body.status : body.error.code;
  assert.ok([200, 409].includes(status), `${status} ${JSON.stringify(body)}`);
  return { kind };
}

/** Calls one server after the other until one answers; each call is in the history, those without an answer too. */
async function callUntilAnswered(
  history: TokenCall[],
  token: Token,
  caller: number,
  input: RegisterInput,
): Promise<void> {
  let attempt = -1;
  await until("a server answers", 60_000, async () => {
    attempt += 1;
    const { url } = site.servers[(caller + (caller >> 2) + attempt) % 2] as ServerProcess;
    const invokedAt = performance.now();
    const output = await send(token, caller, input, url).then(
      (answer) => toOutput(input, answer),
      (error: Error & { code?: string }) => {
        if (error instanceof assert.AssertionError) throw error;
        return error.code === "ECONNREFUSED" ? "not sent" : null;
      },
    );
    if (output !== "not sent") {
      totals.calls += 1;
      if (output === null) totals.lost += 1;
      const returnedAt = output === null ? Infinity : performance.now();
      history.push({ input, output, invokedAt, returnedAt });
    }
    return output !== null && output !== "not sent";
  });
}

async function createToken(): Promise<Token> {
  const { url } = site.servers[restart?.at === 0 ? 1 : 0] as ServerProcess;
  const answer = await site.call(url, "POST", "/v1/tokens", { body: {} });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const token = answer.body as Token;
  secrets.push(token.public_access_token, token.callback_url.split("/").at(-1) ?? "");
  return token;
}

/** Fails the server that runs into the breakpoint. @returns whether one did before all callers were answered. */
async function failAt(breakpoint: Breakpoint, failure: Failure, callers: Promise<unknown>): Promise<boolean> {
  const hit = proxies.map(async (proxy, at) => {
    // What a server does while it starts is no caller's.
    await proxy.arm(at === restart?.at ? null : breakpoint);
    return at;
  });
  const at = await Promise.race([...hit, callers.then(() => null)]);
  for (const proxy of proxies) void proxy.arm(null);
  if (at === null) return false;
  const server = site.servers[at] as ServerProcess;
  if (failure === "server killed") await server.kill();
  (proxies[at] as PostgresProxy).cut();
  if (failure === "server killed") restart = { at, started: server.start() };
  return true;
}

/** A killed server is started while the next race is run at the other. */
let restart: { at: number; started: Promise<void> } | null = null;

type Race = { random: Random; callers: number; withCancel: boolean };

/** @returns whether somebody ran into the breakpoint. */
async function race(
  { random, callers: count, withCancel }: Race,
  breakpoint: Breakpoint,
  failure: Failure,
): Promise<boolean> {
  const token = await createToken();
  const history: TokenCall[] = [];
  const over = new AbortController();
  const start = Promise.withResolvers<void>();
  const inputs = Array.from({ length: count }, (_, caller): RegisterInput =>
    withCancel && caller % 8 === 4
      ? { kind: "cancel" }
      : { kind: "complete", data: DATA[(caller >> 2) % 2] as string },
  );
  const callers = Promise.all(
    inputs.map(async (input, caller) => {
      await start.promise;
      await letPass(random() * 8, "the callers come at random moments, close to each other");
      await callUntilAnswered(history, token, caller, input);
    }),
  ).finally(() => over.abort());
  const readers = Promise.all(
    [0, 1].map(async (reader) => {
      await start.promise;
      for (let reads = 0; reads < 4 && !over.signal.aborted; reads += 1) {
        await callUntilAnswered(history, token, reader, { kind: "read" });
        await letPass(4, "the reads are spread over the race");
      }
    }),
  );
  const failing = failAt(breakpoint, failure, callers);
  start.resolve();
  await callers;
  const isHit = await failing;
  await readers;
  await callUntilAnswered(history, token, 0, { kind: "read" });
  judge(history, count, withCancel);
  return isHit;
}

function judge(history: readonly TokenCall[], callers: number, withCancel: boolean): void {
  const { isLinearizable, steps } = checkLinearizable(history, null, writeOnceRegister);
  totals.rounds += 1;
  totals.steps += steps;
  totals.reads += history.filter(({ input }) => input.kind === "read").length;
  assert.ok(isLinearizable, `not a register that is written once:\n${JSON.stringify(history, null, 1)}`);
  const last = history.findLast(({ output }) => output?.kind === "read")?.output;
  assert.ok(last?.kind === "read" && last.data !== null);
  if (withCancel) return;
  // The last answer to each caller: nobody is left without one, and all agree on the winner.
  const answered = history.filter(({ input, output }) => input.kind === "complete" && output !== null);
  assert.equal(answered.length, callers);
  for (const { input, output } of answered) {
    const isSame = input.kind === "complete" && input.data === last.data;
    const allowed = isSame ? ["completed", "already_completed"] : ["token_completion_conflict"];
    assert.ok(allowed.includes(output?.kind ?? ""), `${JSON.stringify(input)} ${JSON.stringify(output)}`);
  }
}

type Point = { name: string; breakpoint: Breakpoint };

const pointsOf = (statements: Record<string, Breakpoint["matches"]>): Point[] =>
  Object.entries(statements).flatMap(([name, matches]) =>
    (["before", "after"] as const).map((side) => ({
      name: `${side} ${name}`,
      breakpoint: { side, matches },
    })),
  );

async function failOnce(random: Random, { name, breakpoint }: Point, failure: Failure): Promise<void> {
  const withCancel = random() < 0.3;
  for (
    let tries = 1;
    !(await race({ random, callers: CALLERS, withCancel }, breakpoint, failure));
    tries += 1
  )
    assert.ok(tries < MAX_TRIES, `no caller ran into the breakpoint ${name}`);
  totals[failure] += 1;
}

test("a token is completed once, whoever races and whatever fails between two statements", async () => {
  const startedAt = performance.now();
  const seed = newSeed();
  const random = seededRandom(seed);
  const nowhere: Breakpoint = { side: "before", matches: () => false };
  await race({ random, callers: CALLERS_UNDISTURBED, withCancel: false }, nowhere, "connections cut");
  const [lookUps, inTransaction] = [pointsOf(LOOK_UPS), pointsOf(STATEMENTS)];
  // While a killed server starts, the other loses its connections: at each look-up once, then where the most is at stake.
  const cuts = [...lookUps, ...inTransaction.toReversed()];
  // In the short form each statement is met before or after it.
  const points = fewOf([...inTransaction.entries()], 2, seed);
  for (const [index, point] of points) {
    await failOnce(random, point, "server killed");
    await failOnce(random, cuts[index] as Point, "connections cut");
    await restart?.started;
    restart = null;
  }
  for (const server of site.servers)
    for (const secret of secrets) assert.ok(!server.output().includes(secret), "a secret is in the log");
  console.log(
    `seed ${seed} · ${totals.rounds} races, one of them of ${CALLERS_UNDISTURBED} callers undisturbed, the others of ${CALLERS}: ` +
      `server killed ×${totals["server killed"]} (at ${points.length} of ${inTransaction.length} boundaries), connections cut ×${totals["connections cut"]} · ` +
      `${totals.calls} calls (${totals.reads} reads, ${totals.lost} without an answer), all linearizable in ${totals.steps} steps · ` +
      `${secrets.length} secrets in no log · ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  );
});
