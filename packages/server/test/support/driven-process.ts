// A process of a workspace as its worker sees it, without a machine: a test says what it writes and how it ends, and
// sees what it was sent.

import assert from "node:assert/strict";
import type { WorkspaceWorker } from "./workspace-worker.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export type DrivenProcess = {
  /** What its worker was told to start. */
  readonly start: Json;
  readonly received: { input: string; closed: boolean; controls: Json[] };
  /** Takes what comes until the condition holds. */
  until(condition: (received: DrivenProcess["received"]) => boolean): Promise<void>;
  /** Writes to `stdout`, `stderr`, or a PTY's `output`. */
  write(stream: "stdout" | "stderr" | "output", content: string | Uint8Array): Promise<void>;
  /** Commits these files as what it left; gives the version's id. */
  commit(files: Record<string, string>): Promise<string>;
  /** Ends it, by default by exit code 0. */
  end(extra?: object): Promise<void>;
  /** Lets its workspace go. */
  release(): Promise<void>;
};

/** Puts the next workspace that is asked for on the worker, with the first process that runs in it. */
export async function driveProcess(worker: WorkspaceWorker): Promise<DrivenProcess> {
  const leased = await worker.take();
  assert.equal((await worker.live(leased)).status, 200);
  const known: Json[] = [];
  const poll = (): Promise<Json> =>
    worker.poll({ wait: "10s", held: [{ ...worker.fields(leased), stopping: false, processes: known }] });
  let start: Json;
  while (start === undefined) start = (await poll()).processes[0];
  const { process_id } = start;
  const item = { process_id, input_offset: 0, input_closed: false, control_sequence: 0 };
  known.push(item);
  const report = async (what: string, extra: object = {}): Promise<Json> => {
    const path = `/workspaces/processes/${what}`;
    const answer = await worker.call(path, { ...worker.fields(leased), process_id, ...extra });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  await report("started");
  const received: DrivenProcess["received"] = { input: "", closed: false, controls: [] };
  const written = { stdout: 0, stderr: 0, output: 0 };

  async function take(): Promise<void> {
    const { inputs, controls } = await poll();
    for (const input of inputs) {
      assert.equal(input.offset, item.input_offset);
      const bytes = Buffer.from(input.data, "base64");
      received.input += bytes.toString();
      item.input_offset += bytes.length;
      received.closed ||= input.closed;
      item.input_closed = received.closed;
    }
    for (const control of controls) {
      received.controls.push(control);
      item.control_sequence = control.sequence;
    }
  }

  return {
    start,
    received,
    async until(condition) {
      while (!condition(received)) await take();
    },
    async write(stream, content) {
      const data = Buffer.from(content);
      const chunk = { stream, offset: written[stream], data: data.toString("base64") };
      await report("output", { chunks: [{ ...chunk, at: "2026-11-20T09:15:00.123Z" }] });
      written[stream] += data.length;
    },
    async commit(files) {
      const kind = process_id.split("_")[0];
      const cause = { kind, id: process_id };
      const answer = await worker.commit(leased, leased.base.version_id, files, { cause });
      assert.equal(answer.status, 200, answer.text);
      return answer.body.version.id;
    },
    end: async (extra = { outcome: "exited", exit_code: 0 }) => void (await report("ended", extra)),
    release: async () => void (await worker.stopped(leased)),
  };
}
