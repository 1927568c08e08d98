import assert from "node:assert/strict";
import type { ExecuteResult, LeasedSession } from "@keelson/contract";
import { actor, task, type ActorOptions, type RunContext, type RunSession } from "@keelson/sdk";
import { DurableServer } from "./durable-server.ts";
import { Execution, type ExecutionOptions } from "./execution.ts";

let nextId = 0;

/** Declares a task around `run` and gives what executes it on a server. */
export function declare(run: (ctx: RunContext) => unknown) {
  const { id } = task({ id: `durable-${(nextId += 1)}`, run: (_payload, ctx) => run(ctx) });
  const server = new DurableServer();
  return {
    id,
    server,
    start: (options: ExecutionOptions = {}) => new Execution(server, id, options),
    ended: (options: ExecutionOptions = {}) => new Execution(server, id, options).ended,
  };
}

export function outputOf(result: ExecuteResult | null): unknown {
  assert.equal(result?.outcome, "succeeded", JSON.stringify(result));
  const { output } = result as { output: string | null };
  return output === null ? undefined : JSON.parse(output);
}

export function failureOf(
  result: ExecuteResult | null,
): Extract<ExecuteResult, { outcome: "failed" }>["failure"] {
  assert.equal(result?.outcome, "failed", JSON.stringify(result));
  return result.failure;
}

export const SESSION: LeasedSession = {
  id: "sess_1",
  external_id: "chat-1",
  metadata: { plan: "pro" },
  tags: ["b"],
  closed: false,
};

/** Declares an actor around `run` and gives what executes it in a session. */
export function declareActor(
  run: (session: RunSession, ctx: RunContext) => unknown,
  options: Partial<ActorOptions> & { input?: never } = {},
) {
  const { id } = actor({ ...options, id: `actor-${(nextId += 1)}`, run });
  const server = new DurableServer();
  const start = (more: ExecutionOptions = {}) =>
    new Execution(server, id, { kind: "actor", session: SESSION, ...more });
  return { server, start, ended: () => start().ended };
}
