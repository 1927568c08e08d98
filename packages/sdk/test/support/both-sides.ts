// One program on the real server and in process: what each of them tells of it.

import assert from "node:assert/strict";
import { NonRetryableError, type AnyActor, type AnyTask } from "@keelson/sdk";
import { openSession, runTask, type RunView, type TestControls } from "@keelson/sdk/testing";
import { until } from "../../../server/test/support/until.ts";
import { camelCased } from "./camel-cased.ts";
import { runOf } from "./declare.ts";
import { Execution } from "./execution.ts";
import type { KeptRun } from "./kept-run.ts";
import { testWorker } from "./test-worker.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** How a child run ends, whose code is no part of the program. */
export type ChildEnding = { output: unknown } | { message: string };

/** What happens to a run from outside. Each waits until the run does nothing but wait. */
export type Outside = {
  completeToken(data: unknown): Promise<void>;
  /** A timer goes off, which holds nobody up in process. */
  timer(): Promise<void>;
  /** The time of a wait is over. */
  timeout(): Promise<void>;
  /** The time of a token is over, which is this long at most. */
  expire(ms: number): Promise<void>;
  endChild(ending: ChildEnding): Promise<void>;
  /** Resolves when a child has begun, and the run waits for it. */
  childBegins(): Promise<void>;
  send(data: unknown): Promise<void>;
  close(): Promise<void>;
  /** Stops the message that is being written. */
  interrupt(): Promise<void>;
  /** Resolves when the run does nothing but wait. */
  rest(): Promise<void>;
  cancel(): Promise<void>;
};

/** Until a run goes on that continues. */
const CONTINUE_DELAY_MS = 1_000;

/** The attempt runs until it has ended, and the next one then, until none follows. */
async function runToItsEnd(run: KeptRun, isFirst: (execution: Execution) => void): Promise<void> {
  for (;;) {
    const execution = new Execution(run, {});
    isFirst(execution);
    await execution.ended;
    const { status } = await run.get();
    if (status === "queued") await (await testWorker()).pass(CONTINUE_DELAY_MS);
    else if (status !== "retry_delayed") return;
  }
}

async function interruptOpen(run: KeptRun): Promise<void> {
  const { session } = await run.started();
  let open: Json;
  await until("a message is being written", 60_000, async () => {
    const { messages } = await run.call("GET", `/v1/sessions/${session.id}/messages`);
    open = messages.find(({ status }: Json) => status === "open");
    return open !== undefined && (await run.records()).length > 0;
  });
  await run.call("POST", `/v1/sessions/${session.id}/interrupt`, { message_id: open.id });
  await (await testWorker()).renew();
}

function outsideOfReal(run: KeptRun): Outside {
  const parked = async (): Promise<void> => (run.execution as Execution).parked();
  let tokens = 0;
  let children = 0;
  const pass = async (): Promise<void> => {
    await parked();
    const wait = run.pending().find(({ kind }) => kind !== "message");
    await run.passWait((wait as { position: number }).position);
  };
  return {
    async completeToken(data) {
      await parked();
      await run.completeToken(await run.effectId("token", (tokens += 1)), data);
    },
    timer: pass,
    timeout: pass,
    async expire(ms) {
      await parked();
      await (await testWorker()).pass(ms);
    },
    async endChild(ending) {
      await parked();
      const failure = { kind: "application_error", stack: null, retryable: false };
      await run.endChild(
        (children += 1),
        "output" in ending
          ? { outcome: "succeeded", output: ending.output }
          : { outcome: "failed", failure: { ...failure, message: ending.message } },
      );
    },
    childBegins: parked,
    async send(data) {
      await parked();
      await run.send(data);
    },
    async close() {
      await parked();
      const { session } = await run.started();
      await run.call("POST", `/api/sessions/${session.id}/close`, {});
      await (await testWorker()).renew();
    },
    interrupt: () => interruptOpen(run),
    rest: parked,
    cancel: () => run.cancel(),
  };
}

/** On the real server. */
export async function onServer(
  declared: AnyTask | AnyActor,
  act: (outside: Outside) => Promise<void>,
): Promise<Json> {
  const { kind, id } = declared;
  const { run } = runOf({ kind, id });
  const { session } = await run.started();
  let ended: Promise<void> | undefined;
  await new Promise<void>((begun) => {
    ended = runToItsEnd(run, () => begun());
  });
  await Promise.all([act(outsideOfReal(run)), ended]);
  const { status, output, failure, attempt_number, id: runId } = await run.get();
  const { calls } = await run.call("GET", `/v1/runs/${runId}/calls?limit=200`);
  const steps = (run.events as Json[]).filter(isLast);
  let messages: Json[] = [];
  // What a run leaves open ends after it.
  await until("no message is open", 60_000, async () => {
    if (session === null) return true;
    ({ messages } = await run.call("GET", `/v1/sessions/${session.id}/messages`));
    return messages.every(({ status: its }: Json) => its !== "open");
  });
  const told = {
    ended: { status, output, failure, attempt_number },
    calls,
    steps: steps.map(({ kind: event, attributes }: Json) => ({
      name: attributes.step,
      status: event === "step.completed" ? "succeeded" : "failed",
      tries: attributes.try,
    })),
    usage: await run.call("GET", `/v1/runs/${runId}/usage`),
    metadata: (await run.get()).metadata,
    records: session === null ? [] : (await run.records()).filter((record) => !isNews(record)),
    messages,
    state: session === null ? null : (await run.call("GET", `/api/sessions/${session.id}/state`)).state,
  };
  return comparable(told);
}

const isLast = ({ kind, attributes }: Json): boolean =>
  kind === "step.completed" || attributes.retry_after_ms === null;

const isNews = ({ content_type: type }: Json): boolean =>
  typeof type === "string" && type.includes("keelson.message");

/** How children of the program end in process: each call of the task is given the next ending. */
function stubOf(endings: ChildEnding[], told: (() => void)[]) {
  return async (): Promise<unknown> => {
    await new Promise<void>((resolve) => told.push(resolve));
    const ending = endings.shift() as ChildEnding;
    if ("output" in ending) return ending.output;
    throw new NonRetryableError(ending.message);
  };
}

/** In this process. */
export async function inProcess(
  declared: AnyTask | AnyActor,
  act: (outside: Outside) => Promise<void>,
  childId?: string,
): Promise<Json> {
  const endings: ChildEnding[] = [];
  const told: (() => void)[] = [];
  const children = childId === undefined ? {} : { [childId]: stubOf(endings, told) };
  const session = declared.kind === "actor" ? openSession(declared, { children }) : null;
  const run = declared.kind === "task" ? runTask(declared, null, { children }) : null;
  const controls = (session ?? run) as TestControls & { ended: Promise<Json> };
  const childBegins = (): Promise<void> => until("the child runs", 60_000, async () => told.length > 0);
  await act({
    completeToken: async (data) => (await controls.token()).complete(data),
    timer: async () => undefined,
    rest: () => controls.rest(),
    cancel: async () => run?.cancel(),
    timeout: () => controls.passTime(),
    expire: () => controls.passTime(),
    async endChild(ending) {
      endings.push(ending);
      await childBegins();
      told.shift()?.();
    },
    childBegins,
    async send(data) {
      await controls.rest();
      await session?.send(data);
    },
    async close() {
      await controls.rest();
      await session?.close();
    },
    async interrupt() {
      const record = await session?.next();
      await session?.interrupt(record?.messageId ?? "");
    },
  });
  if (session !== null && session.status === "open") {
    await controls.rest();
    await session.close();
  }
  const ended = await controls.ended;
  const view = (session?.turns[0] ?? run) as RunView;
  return comparable({
    ended,
    calls: view.calls,
    steps: view.steps.map(({ name, status, tries }) => ({ name, status, tries })),
    usage: view.usage,
    metadata: view.metadata,
    records: session?.records() ?? [],
    messages: session?.messages().toReversed() ?? [],
    state: session?.state().state ?? null,
  });
}

const ID = /\b(run|rec|msg|tok|sess|wait|proj|env)_[0-9a-z]{26}\b/g;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const TOOL_CALL = /^call-\d+$/;
/** Random, or of the machine, or of whoever sends. */
const UNEQUAL = new Set([
  "stack",
  "source",
  "publicAccessToken",
  "public_access_token",
  "approvalDescriptor",
]);

function comparable(value: unknown): unknown {
  const walk = (given: unknown): unknown => {
    let one = given;
    if (typeof one === "string")
      return TIME.test(one) ? "time" : TOOL_CALL.test(one) ? "call" : one.replaceAll(ID, "$1");
    if (Array.isArray(one)) return one.map(walk);
    if (typeof one !== "object" || one === null) return one;
    if ("kind" in one && one.kind === "value" && "value" in one) one = { ...one, value: "drawn" };
    return Object.fromEntries(
      Object.entries(one as object)
        .filter(([key]) => !UNEQUAL.has(key))
        .map(([key, inner]) => [key, walk(inner)]),
    );
  };
  return walk(camelCased(JSON.parse(JSON.stringify(value))));
}

/** The program does the same on both sides. @returns what both told */
export async function assertSame(
  declared: AnyTask | AnyActor,
  act: (outside: Outside) => Promise<void> = async () => undefined,
  childId?: string,
): Promise<Json> {
  const real = await onServer(declared, act);
  const mine = await inProcess(declared, act, childId);
  assert.deepEqual(mine, real);
  return mine;
}
