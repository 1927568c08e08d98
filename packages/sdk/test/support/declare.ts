import assert from "node:assert/strict";
import type { ExecuteResult } from "@keelson/contract";
import { actor, task, type ActorOptions, type RunContext, type RunSession } from "@keelson/sdk";
import { Execution, type ExecutionOptions } from "./execution.ts";
import { KeptRun, type Entrypoint } from "./kept-run.ts";

type Code = (ctx: RunContext) => unknown;

/** What each run of the declared task does. */
const codes = new Map<string, Code>();
const { id } = task({
  id: "declared",
  retry: { maxAttempts: 3 },
  run: (_payload, ctx) => (codes.get(ctx.run.id) as Code)(ctx),
});

/** A run of a task or an actor, and what executes it. */
export function runOf(entrypoint: Entrypoint, body: object = {}, began?: (runId: string) => void) {
  const run = new KeptRun(entrypoint, body, began);
  return {
    run,
    start: (options: ExecutionOptions = {}) => new Execution(run, options),
    ended: (options: ExecutionOptions = {}) => new Execution(run, options).ended,
  };
}

/** A run around `code`, and what executes it on the server. */
export const declare = (code: Code, body: object = {}) =>
  runOf({ kind: "task", id }, body, (runId) => void codes.set(runId, code));

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

let nextId = 0;

/** Declares an actor around `run`, and gives what executes the first turn of a session of it. */
export function declareActor(
  run: (session: RunSession, ctx: RunContext) => unknown,
  options: Partial<ActorOptions> & { input?: never } = {},
  body: object = {},
) {
  return runOf({ kind: "actor", id: actor({ ...options, id: `actor-${(nextId += 1)}`, run }).id }, body);
}
