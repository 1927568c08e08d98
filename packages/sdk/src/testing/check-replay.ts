import type { JournalKind, RuntimeHost } from "@keelson/contract";
import { execute } from "../runtime/execute.ts";
import type { RunInput } from "../runtime/durable/run-input.ts";
import { NondeterministicReplayError } from "../runtime/durable/replay.ts";
import type { Harness } from "./harness.ts";
import type { KeptRun } from "./kept-run.ts";

/** Counted instead of time: a busy machine, whose process gets few turns, is no reason to say that code is wrong. */
const TICK_MS = 10;

/** How long code that makes a call which its journal does not have may go on until it is said not to end. */
const GRACE_TICKS = 100;

/** How long a replay may take, whose steps and waits take no time. */
const LIMIT_TICKS = 1_000;

/** Takes nothing, and tells nothing: all has happened. */
const DEAF_HOST: RuntimeHost = {
  log: () => undefined,
  event: () => undefined,
  metadata: () => undefined,
  call: () => new Promise(() => undefined),
  onSettled: () => undefined,
  onSuspend: () => undefined,
};

/** An execution may have begun these at its very end, and nothing is kept of them then. */
const MAY_BE_LEFT: readonly JournalKind[] = ["step", "wait"];

/**
 * Runs the code of a run that has succeeded once more, on each of its journals alone, as a worker does that takes a run up. No step, wait or
 * other call happens again. Rejects with a `NondeterministicReplayError` when the code goes another way.
 */
export async function checkReplay(harness: Harness, run: KeptRun): Promise<void> {
  if (run.ending?.status !== "succeeded" || run.start.stub !== null) return;
  for (const input of run.replays) if (input.journal.length > 0) await replay(harness, run, input);
}

async function replay(harness: Harness, run: KeptRun, lastInput: KeptRun["replays"][number]): Promise<void> {
  const calls: string[] = [];
  const { promise: stuck, resolve } = Promise.withResolvers<"stuck">();
  let ticksLeft = LIMIT_TICKS;
  const ticking = setInterval(() => {
    ticksLeft -= 1;
    if (ticksLeft === 0) resolve("stuck");
  }, TICK_MS);
  const onNewCall = (kind: JournalKind, name: string): void => {
    calls.push(`${kind} "${name}"`);
    if (!MAY_BE_LEFT.includes(kind)) return resolve("stuck");
    ticksLeft = GRACE_TICKS;
  };
  const input: RunInput = { ...lastInput, onNewCall, host: DEAF_HOST };
  const result = await Promise.race([harness.outside(() => execute(input)), stuck]);
  clearInterval(ticking);
  const whose = `The code of ${run.start.entrypoint.kind} "${run.start.entrypoint.declaredId}" is not deterministic. `;
  if (result === "stuck" && calls.length === 0)
    throw new NondeterministicReplayError(
      `${whose}Its replay did not end within ${(LIMIT_TICKS * TICK_MS) / 1000} s: it waits for something outside of a step that came only once. ${HINT}`,
    );
  if (result === "stuck")
    throw new NondeterministicReplayError(
      `${whose}Its replay asks for ${calls.join(", ")}, which the run did not ask for. ${HINT}`,
    );
  if (result.outcome === "failed")
    throw new NondeterministicReplayError(`${whose}Its replay failed: ${result.failure.message}`);
}

const HINT =
  "A durable run makes the same calls in the same order each time: take times and random values from now(), random() and uuid(), and do I/O that decides what is called inside a step.";
