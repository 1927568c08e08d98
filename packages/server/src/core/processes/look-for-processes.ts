import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Among, LiveIds } from "../../live-ids.ts";
import type { HeldWork } from "./held-work.ts";
import { INPUT_BYTES, type LackedInput } from "./given-inputs.ts";
import {
  listActiveProcesses,
  listSent,
  type ControlRow,
  type KnownProcess,
  type ProcessRow,
} from "./process-reads.ts";
import { forgetTaken } from "./process-writes.ts";

export type LiveProcess = ProcessRow & { liveIn: Uuid<"mat"> };

export type ProcessWork = {
  starts: LiveProcess[];
  inputs: LackedInput[];
  controls: { process: Pick<ProcessRow, "kind" | "id">; control: ControlRow }[];
};

export type ProcessLookContext = { db: Database; liveProcesses: Pick<LiveIds, "all"> };

/** What a worker lacks of the processes in what it has live, given what it says it has. The statements go beside each other. */
export async function lookForProcesses(
  { db, liveProcesses }: ProcessLookContext,
  workerId: Uuid<"wkr">,
  held: readonly HeldWork[],
): Promise<ProcessWork> {
  const known = decodeHeld(held);
  const taken = known.filter((item) => item.input > 0 || item.control > 0);
  const [active, sent] = await Promise.all([
    listActiveProcesses(db, workerId, unknownOf(liveProcesses.all(), known)),
    known.length === 0 ? [] : listSent(db, workerId, known, INPUT_BYTES),
    taken.length === 0 ? undefined : forgetTaken(db, workerId, taken),
  ]);
  const knownIds = new Set(held.flatMap(({ processes }) => processes.map((item) => item.processId)));
  const inputs = sent.flatMap(({ data, offset, closed, closesInput, ...process }) =>
    data.length > 0 || closesInput ? [{ process, offset, data, closed }] : [],
  );
  return {
    starts: active.filter(({ kind, id }) => !knownIds.has(encodeId(kind, id))),
    inputs,
    controls: sent.flatMap(({ kind, id, controls }) =>
      (JSON.parse(controls) as ControlRow[]).map((control) => ({ process: { kind, id }, control })),
    ),
  };
}

/** Without those that the worker has: they are not to begin. */
function unknownOf(live: Among | null, known: readonly KnownProcess[]): Among | null {
  if (live === null) return null;
  const ids = new Set<string>(known.map(({ id }) => id));
  return { since: live.since, older: live.older.filter((id) => !ids.has(id)) };
}

/** Those of which there can be one. */
function decodeHeld(held: readonly HeldWork[]): KnownProcess[] {
  return held.flatMap(({ epoch, processes, ...place }) => {
    const environmentId = decodeId("env", place.environmentId);
    const materializationId = decodeId("mat", place.materializationId);
    if (environmentId === null || materializationId === null) return [];
    return processes.flatMap((item) => {
      const id = decodeId(item.processId.startsWith("pty_") ? "pty" : "exec", item.processId);
      if (id === null) return [];
      const { inputOffset: input, inputClosed: isClosed, controlSequence: control } = item;
      return [{ environmentId, materializationId, epoch, id, input, isClosed, control }];
    });
  });
}
