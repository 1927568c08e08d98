// A server, a real agent with room for workspaces, and examples deployed as `keelson deploy` does it.

import { chmod, mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client } from "@keelson/sdk";
import { buildBundle } from "../../../cli/src/bundle/build-bundle.ts";
import { deployBundle } from "../../../cli/src/deploy-bundle.ts";
import { startApiServer, type ApiServer } from "../../../server/test/support/api-server.ts";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";

const EXAMPLES = resolve(import.meta.dirname, "../../../../examples");

const quiet = (): void => undefined;

export type AgentSite = {
  server: ApiServer;
  client: Client;
  /** Where a test may write. */
  folder: string;
  /** Makes an example's tasks and actors current. */
  deploy(example: "approval-chat" | "code-fixer" | "repository-report"): Promise<void>;
  stop(): Promise<void>;
};

/** Stop it in an `after` hook. */
export async function startAgentSite({ capacity = 4 }: { capacity?: number } = {}): Promise<AgentSite> {
  const server = await startApiServer();
  const folder = await mkdtemp(join(tmpdir(), "keelson-console-"));
  // Other users pass through it to the workspaces.
  await chmod(folder, 0o711);
  const dataDir = join(folder, "agent");
  await mkdir(dataDir, { mode: 0o711 });
  let agent: RunningAgent | undefined;
  const stop = async (): Promise<void> => {
    await agent?.stop();
    await server.stop();
    await removeTestFolder(folder);
  };
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  try {
    agent = await startAgent({
      url: server.url,
      enrollmentToken: server.credentials.enrollment_token,
      name: "agent",
      capacity,
      workspaces: 4,
      // As `keelson up` starts it.
      keepsUser: true,
      dataDir,
      version: "0.1.0-test",
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    server,
    client,
    folder,
    deploy: async (example) => {
      const directory = join(EXAMPLES, example);
      await deployBundle(client, await buildBundle({ directory }), {
        directory,
        promote: true,
        timeoutMs: 60_000,
        signal: new AbortController().signal,
        progress: quiet,
      });
    },
    stop,
  };
}
