import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { startAgent, type RunningAgent, type StartAgentOptions } from "@keelson/agent";
import { startFakeServer, type FakeServer } from "./fake-server.ts";

export type Logged = { level: string; fields: Record<string, unknown>; message: string };

/** A server and an agent of this process, ended with the test. */
export async function startTestAgent(
  t: TestContext,
  options: Partial<StartAgentOptions> = {},
): Promise<{ server: FakeServer; agent: RunningAgent; logged: Logged[]; dataDir: string }> {
  const server = await startFakeServer();
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const logged: Logged[] = [];
  const log = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields: fields as Record<string, unknown>, message });
  const agent = await startAgent({
    url: server.url,
    enrollmentToken: "kl_enr_test",
    name: "test",
    capacity: 8,
    dataDir,
    version: "0.1.0-test",
    logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    ...options,
  });
  t.after(async () => {
    await agent.stop();
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { server, agent, logged, dataDir };
}
