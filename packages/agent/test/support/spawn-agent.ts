import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";
import { bareEnvironment } from "../../../server/test/support/bare-environment.ts";
import { programArguments } from "../../../server/test/support/programs.ts";

export type SpawnedAgent = {
  child: ChildProcess;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stderr(): string;
};

/**
 * The agent as a process of its own, killed with the test.
 *
 * @param descriptors what it inherits besides the standard streams: ours, by the number it has there.
 */
export async function spawnAgent(
  t: TestContext,
  environment: Record<string, string>,
  descriptors: ReadonlyMap<number, number> = new Map(),
): Promise<SpawnedAgent> {
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const child = spawn(process.execPath, programArguments("agent/src/main.ts"), {
    env: {
      ...bareEnvironment(),
      KEELSON_ENROLLMENT_TOKEN: "kl_enr_test",
      KEELSON_DATA_DIR: dataDir,
      // No test that starts one so has any.
      KEELSON_AGENT_WORKSPACES: "0",
      ...environment,
    },
    stdio: ["ignore", "ignore", "pipe", ...passedOn(descriptors)],
  });
  let stderr = "";
  child.stderr?.on("data", (bytes: Buffer) => (stderr += bytes.toString()));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.on("exit", (code, signal) => resolve({ code, signal })),
  );
  cleanUp(t, async () => {
    child.kill("SIGKILL");
    await exited;
    await removeTestFolder(dataDir);
  });
  return { child, exited, stderr: () => stderr };
}

function passedOn(descriptors: ReadonlyMap<number, number>): ("ignore" | number)[] {
  const last = Math.max(2, ...descriptors.keys());
  return Array.from({ length: last - 2 }, (_, at) => descriptors.get(at + 3) ?? "ignore");
}
