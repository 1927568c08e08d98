// A server and an agent that has room for workspaces: what a person's console talks to.

import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client } from "@keelson/sdk";
import { startApiServer, type ApiServer } from "../../../server/test/support/api-server.ts";

export type WorkspaceSite = { server: ApiServer; client: Client; stop(): Promise<void> };

/** Stop it in an `after` hook. */
export async function startWorkspaceSite(): Promise<WorkspaceSite> {
  const server = await startApiServer();
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  // Other users pass through it to the workspaces.
  await chmod(dataDir, 0o711);
  let agent: RunningAgent | undefined;
  const stop = async (): Promise<void> => {
    await agent?.stop();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  const quiet = (): void => undefined;
  try {
    agent = await startAgent({
      url: server.url,
      enrollmentToken: server.credentials.enrollment_token,
      name: "agent",
      capacity: 1,
      workspaces: 4,
      dataDir,
      version: "0.1.0-test",
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { server, client: new Client({ url: server.url, apiKey: server.credentials.api_key }), stop };
}
