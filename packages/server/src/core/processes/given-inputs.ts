import { encodeId, type Uuid } from "@keelson/contract";
import type { HeldPart, HeldWork } from "./held-work.ts";
import type { ProcessRow } from "./process-reads.ts";

/** Input that was just stored, with what its worker has to know before it may take it. */
export type GivenInput = {
  process: Pick<ProcessRow, "kind" | "id">;
  materializationId: Uuid<"mat">;
  epoch: number;
  /** What else had been sent to the process. */
  controlSequence: number;
  offset: number;
  data: Buffer;
};

/** Input for a process that its worker lacks. */
export type LackedInput = {
  process: Pick<ProcessRow, "kind" | "id">;
  offset: number;
  data: Buffer;
  closed: boolean;
};

/** Input for one process in one answer. */
export const INPUT_BYTES = 256 * 1024;

/**
 * Adds to what a look found what was given to the poll, where it goes on there or where its worker says that it is: one
 * input for each process. Everything else is left to the next look: input of a process that the worker does not have, what
 * was sent while a control was on its way, which comes first, and what is behind a gap.
 */
export function joinGiven(
  found: readonly LackedInput[],
  given: readonly GivenInput[],
  held: readonly HeldWork[],
): LackedInput[] {
  const joined = new Map(found.map((input) => [encodeId(input.process.kind, input.process.id), input]));
  // They are given in the order of the answers of PostgreSQL, which need not be that of the commits.
  for (const input of [...given].sort((a, b) => a.offset - b.offset)) {
    const id = encodeId(input.process.kind, input.process.id);
    const item = heldProcess(held, input, id);
    if (item === undefined || item.inputClosed || item.controlSequence !== input.controlSequence) continue;
    const before = joined.get(id) ?? emptyFrom(item, input);
    if (before.closed) continue;
    const end = before.offset + before.data.length;
    const fresh = input.data.subarray(end - input.offset);
    if (input.offset > end || fresh.length === 0 || before.data.length + fresh.length > INPUT_BYTES) continue;
    joined.set(id, { ...before, data: Buffer.concat([before.data, fresh]) });
  }
  return [...joined.values()];
}

function heldProcess(
  held: readonly HeldWork[],
  { materializationId, epoch }: GivenInput,
  id: string,
): HeldPart | undefined {
  const place = encodeId("mat", materializationId);
  const found = held.find((item) => item.materializationId === place && item.epoch === epoch);
  return found?.processes.find((item) => item.processId === id);
}

const emptyFrom = (item: HeldPart, { process }: GivenInput): LackedInput => ({
  process,
  offset: item.inputOffset,
  data: Buffer.alloc(0),
  closed: false,
});
