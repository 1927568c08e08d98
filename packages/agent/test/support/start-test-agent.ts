import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent, type RunningAgent, type StartAgentOptions } from "@keelson/agent";
import { AgentServer } from "./start-agent-server.ts";
import { cleanUp, type Owner } from "./clean-up.ts";
import { thisFile } from "./test-place.ts";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";

export type Logged = { level: string; fields: Record<string, unknown>; message: string };

export type TestAgent = {
  server: AgentServer;
  agent: RunningAgent;
  logged: Logged[];
  /** Resolves when this is logged, or has been. */
  whenLogged(isIt: (line: Logged) => boolean): Promise<void>;
  dataDir: string;
};

/** A server and an agent of this process, ended with the test. `on`: another agent's server. */
export async function startTestAgent(
  t: Owner,
  { on, ...options }: Partial<StartAgentOptions> & { on?: AgentServer } = {},
): Promise<TestAgent> {
  const server = on ?? (await AgentServer.start());
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const logged: Logged[] = [];
  const onLogged = new Set<() => void>();
  const log = (level: string) => (fields: object, message: string) => {
    logged.push({ level, fields: fields as Record<string, unknown>, message });
    for (const look of onLogged) look();
  };
  const whenLogged = (isIt: (line: Logged) => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!logged.some(isIt)) return;
        onLogged.delete(look);
        resolve();
      };
      onLogged.add(look);
      look();
    });
  const starting = startAgent({
    url: server.url,
    enrollmentToken: server.group.enrollmentToken,
    name: "test",
    capacity: 8,
    dataDir,
    version: "0.1.0-test",
    logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    ...options,
  });
  cleanUp(t, async () => {
    await (await starting.catch(() => null))?.stop();
    if (on === undefined) await server.close();
    await removeTestFolder(dataDir);
  });
  const agent = await starting;
  return { server, agent, logged, whenLogged, dataDir };
}

let shared: Promise<TestAgent> | undefined;

/** The agent of this file, for tests that leave it as they found it: each agent takes 0.4 s of processor. */
export const sharedAgent = (): Promise<TestAgent> => (shared ??= startTestAgent(thisFile));
