import { encodeId, type WorkspaceLeaseRequest, type Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import {
  listActiveProcesses,
  listControls,
  listInputs,
  type ControlRow,
  type InputRow,
  type ProcessRow,
} from "./process-reads.ts";
import { forgetTaken } from "./process-writes.ts";

/** Input for one process in one answer. */
const INPUT_BYTES = 256 * 1024;

export type LiveProcess = ProcessRow & { liveIn: Uuid<"mat"> };

export type ProcessWork = {
  starts: LiveProcess[];
  inputs: { process: ProcessRow; offset: number; data: Buffer; closed: boolean }[];
  controls: { process: ProcessRow; control: ControlRow }[];
};

/** What a worker lacks of the processes in what it has live, given what it says it has. */
export async function lookForProcesses(
  db: Database,
  workerId: Uuid<"wkr">,
  held: WorkspaceLeaseRequest["held"],
): Promise<ProcessWork> {
  const work: ProcessWork = { starts: [], inputs: [], controls: [] };
  const active = await listActiveProcesses(db, workerId);
  if (active.length === 0) return work;
  const known = new Map(held.flatMap(({ processes }) => processes.map((item) => [item.process_id, item])));
  const taken = [];
  for (const process of active) {
    const item = known.get(encodeId(process.kind, process.id));
    if (item === undefined) {
      work.starts.push(process);
      continue;
    }
    const { environmentId, id } = process;
    const { input_offset: from, control_sequence: after } = item;
    if (from > process.inputTaken || after > 0)
      taken.push({ environmentId, id, input: from, control: after });
    if (from < process.inputBytes || (process.inputClosed && !item.input_closed)) {
      const rows = await listInputs(db, environmentId, id, from, INPUT_BYTES);
      work.inputs.push({ process, ...joined(rows, from, process) });
    }
    if (after < process.controlSequence) {
      for (const control of await listControls(db, environmentId, id, after))
        work.controls.push({ process, control });
    }
  }
  if (taken.length > 0) await forgetTaken(db, taken);
  return work;
}

function joined(
  rows: readonly InputRow[],
  from: number,
  process: ProcessRow,
): { offset: number; data: Buffer; closed: boolean } {
  const data = Buffer.concat(rows.map((row) => row.data.subarray(Math.max(0, from - row.position))));
  return { offset: from, data, closed: process.inputClosed && from + data.length >= process.inputBytes };
}
