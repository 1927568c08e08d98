// Callers that start what `mixed-code.ts` declares, follow it to its end, and know what they were answered.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Answer } from "./caller.ts";
import { isLong, pick, type Random } from "../../support/seeded-random.ts";
import type { Site } from "./site.ts";
import { letPass, until } from "../../support/until.ts";

/** How long a caller repeats what is not answered. */
const OUTAGE_MS = 90_000;
/** How long a run may take whose processes are killed again and again. */
const RUN_MS = 240_000;
const INPUTS = 6;

/** Each lane has one run at a time. */
const TASK_LANES = [
  "plain",
  "only",
  "shared",
  "steps",
  "in-own",
  "parent",
  ...(isLong() ? ["shared", "steps"] : []),
];
const WORKSPACE_LANES = 2;

export interface Acknowledged {
  /** Ids of the runs whose start was answered, sessions' first ones among them, with their label. */
  readonly runs: Map<string, string>;
  /** What was sent to each session, in order. */
  readonly inputs: Map<string, string[]>;
}

export interface LoadOptions {
  readonly random: Random;
  readonly isOver: () => boolean;
  readonly acknowledged: Acknowledged;
}

/** Resolves when it is over and every run that a lane has started has ended. */
export async function keepLoading(site: Site, options: LoadOptions): Promise<void> {
  const caller = createInsistentCaller(site, options.random);
  const workspaces = await Promise.all(
    Array.from({ length: WORKSPACE_LANES }, () => caller.make("/api/workspaces")),
  );
  await Promise.all([
    ...TASK_LANES.map((task) => keepRunning(caller, task, {}, options)),
    ...workspaces.map(({ id }) => keepRunning(caller, "in-given", { workspace_id: id }, options)),
    keepTalking(caller, options),
  ]);
}

type InsistentCaller = ReturnType<typeof createInsistentCaller>;

/** Repeats each call at either server until it is answered; what it makes has a key of its own. */
function createInsistentCaller(site: Site, random: Random) {
  const insist = async (method: string, path: string, body?: object): Promise<Answer> => {
    let answer = null as Answer | null;
    await until(`${method} ${path} is answered`, OUTAGE_MS, async () => {
      const { url } = pick(random, site.servers);
      answer = await site.call(url, method, path, body === undefined ? {} : { body }).catch(() => null);
      if (answer !== null && answer.status < 500) return true;
      assert.ok(answer === null || answer.status === 503, JSON.stringify(answer?.body));
      return false;
    });
    return answer as Answer;
  };
  const expect = async (statuses: readonly number[], method: string, path: string, body?: object) => {
    const answer = await insist(method, path, body);
    assert.ok(statuses.includes(answer.status), `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const get = (path: string) => expect([200], "GET", path);
  const describe = async (run: { id: string; workspace_id: string | null }): Promise<string> => {
    const { events } = await get(`/v1/runs/${run.id}/events?limit=200`);
    const workspace = run.workspace_id === null ? "" : `/api/workspaces/${run.workspace_id}`;
    const held = workspace === "" ? [] : [await get(workspace), await get(`${workspace}/execs`)];
    return `A run does not end: ${JSON.stringify([run, events, ...held], null, 1)}`;
  };
  return {
    get,
    make: (path: string, body: object = {}) =>
      expect([200, 201], "POST", path, { ...body, idempotency_key: randomUUID() }),
    close: (session: string) => expect([200], "POST", `/v1/sessions/${session}/close`),
    untilEnded: async (run: string): Promise<void> => {
      const read = () => get(`/v1/runs/${run}`);
      const isEnded = async (): Promise<boolean> => (await read()).finished_at !== null;
      await until("the run has ended", RUN_MS, isEnded).catch(async (error: unknown) => {
        if (error instanceof assert.AssertionError) throw error;
        throw new Error(await describe(await read()), { cause: error });
      });
    },
  };
}

async function keepRunning(
  caller: InsistentCaller,
  task: string,
  extra: object,
  { random, isOver, acknowledged }: LoadOptions,
): Promise<void> {
  while (!isOver()) {
    const label = `${task}-${randomUUID()}`;
    const { id } = await caller.make(`/v1/tasks/${task}/start`, { payload: { label }, ...extra });
    acknowledged.runs.set(id, label);
    await caller.untilEnded(id);
    await letPass(random() * 200, "starts come at random moments");
  }
}

/** Some pauses are longer than the actor's idle time, so that a session has several runs. */
async function keepTalking(
  caller: InsistentCaller,
  { random, isOver, acknowledged }: LoadOptions,
): Promise<void> {
  while (!isOver()) {
    const session = await caller.make("/api/sessions", { actor: "answering" });
    acknowledged.runs.set(session.current_run_id, session.id);
    const sent: string[] = [];
    acknowledged.inputs.set(session.id, sent);
    for (let input = 0; input < INPUTS; input += 1) {
      const data = randomUUID();
      await caller.make(`/api/sessions/${session.id}/inputs/input`, { data });
      sent.push(data);
      await letPass(random() * 2_500, "inputs come at random moments");
    }
    await untilAnswered(caller, session.id, sent.length);
    await caller.close(session.id);
  }
}

async function untilAnswered(caller: InsistentCaller, session: string, count: number): Promise<void> {
  let streams: { name: string; last_sequence: number }[] = [];
  await until(`${session} has answered`, RUN_MS, async () => {
    ({ streams } = await caller.get(`/v1/sessions/${session}/streams`));
    const answers = streams.find(({ name }) => name === "answers");
    return answers !== undefined && answers.last_sequence >= count;
  }).catch((error: unknown) => {
    if (error instanceof assert.AssertionError) throw error;
    throw new Error(`${session} does not answer: ${JSON.stringify(streams)}`, { cause: error });
  });
}
