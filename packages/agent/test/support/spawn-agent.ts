import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export type SpawnedAgent = {
  child: ChildProcess;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stderr(): string;
};

/** The agent as a process of its own, killed with the test. */
export async function spawnAgent(t: TestContext, environment: Record<string, string>): Promise<SpawnedAgent> {
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const child = spawn(process.execPath, ["--conditions=@keelson/source", MAIN], {
    env: {
      PATH: process.env["PATH"] ?? "",
      KEELSON_ENROLLMENT_TOKEN: "kl_enr_test",
      KEELSON_DATA_DIR: dataDir,
      // The fake server knows nothing of them.
      KEELSON_AGENT_WORKSPACES: "0",
      ...environment,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr?.on("data", (bytes: Buffer) => (stderr += bytes.toString()));
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.on("exit", (code, signal) => resolve({ code, signal })),
  );
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
    await rm(dataDir, { recursive: true, force: true });
  });
  return { child, exited, stderr: () => stderr };
}
