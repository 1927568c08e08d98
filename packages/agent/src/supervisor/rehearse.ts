import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../clock.ts";
import { prepareSandbox } from "../sandboxes/prepare-sandbox.ts";
import { DEFAULT_LIMITS, type SandboxMeans } from "../sandboxes/sandbox.ts";
import type { Isolation } from "@keelson/contract";
import type { GroupReaper } from "../task-hosts/group-reaper.ts";
import type { ProcessExit, ProcessSpec } from "./calls.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import { Supervision } from "./supervision.ts";

/** What a spare supervisor is told before it is anybody's. */
export type Rehearsal = {
  /** Of this rehearsal alone. */
  folder: string;
  isolation: Isolation;
  means: SandboxMeans;
};

const SPEC: ProcessSpec = {
  ...{ id: "rehearsal", kind: "exec", command: ["true"], cwd: "", env: {} },
  ...{ timeoutMs: null, cols: null, rows: null },
};

/**
 * Runs a program that does nothing, in a sandbox of an empty folder: code that has run once, and a program that the machine
 * has read once, are several times as fast when a workspace's first command comes. Nothing of it stays. It has no uid of a
 * workspace, because what is left of one is found by its uid.
 *
 * @throws Error for what is wrong: the first command meets it too, when it is still so.
 */
export async function rehearse(
  { folder, isolation, means }: Rehearsal,
  reaper: GroupReaper,
): Promise<ProcessExit> {
  const root = join(folder, "files");
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const sandbox = prepareSandbox({
      ...{ materializationId: "rehearsal", folder, means: { ...means, uids: null }, limits: DEFAULT_LIMITS },
      surroundings: { isolation, root, env: {}, network: "on", resources: { cpu: null, memory: null } },
    });
    const supervision = new Supervision(sandbox, systemClock, reaper);
    createFrameReader(() => undefined)(encodeFrame({ call: "start", spec: SPEC }));
    supervision.prepare(SPEC);
    await supervision.start(SPEC);
    const after = { stdout: 0, stderr: 0, output: 0 };
    for (;;) {
      const { chunks, exit } = await supervision.read(SPEC.id, after, new AbortController().signal);
      for (const { stream, offset, data } of chunks) after[stream] = offset + data.length;
      if (exit === null) continue;
      supervision.forget(SPEC.id);
      return exit;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
