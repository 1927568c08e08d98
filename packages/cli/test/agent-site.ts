// A server, and an agent in a process of its own, to which projects are deployed as `keelson deploy` does it.

import type { TestContext } from "node:test";
import { Client, type Deployment, type Run } from "@keelson/sdk";
import { spawnAgent, type SpawnedAgent } from "../../agent/test/support/spawn-agent.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { buildBundle } from "../src/bundle/build-bundle.ts";
import { deployBundle } from "../src/deploy-bundle.ts";

export type AgentSite = {
  server: ApiServer;
  client: Client;
  agent: SpawnedAgent;
  /** Makes a project current; `told` is what the command says. */
  deploy(directory: string): Promise<{ deployment: Deployment; told: string[] }>;
  /** Starts a task and waits for its end. */
  run(task: string, payload?: unknown): Promise<Run>;
};

/** Ended with the test. */
export async function startAgentSite(t: TestContext): Promise<AgentSite> {
  const server = await startApiServer();
  t.after(() => server.stop());
  const { api_key: apiKey, enrollment_token: enrollmentToken } = server.credentials;
  const agent = await spawnAgent(t, {
    KEELSON_URL: server.url,
    KEELSON_ENROLLMENT_TOKEN: enrollmentToken,
  });
  const client = new Client({ url: server.url, apiKey });
  const signal = t.signal;
  return {
    server,
    client,
    agent,
    deploy: async (directory) => {
      const told: string[] = [];
      const progress = (text: string): void => void told.push(text);
      const options = { directory, promote: true, timeoutMs: 60_000, signal, progress };
      const deployment = await deployBundle(client, await buildBundle({ directory }), options);
      return { deployment, told };
    },
    run: async (task, payload = null) => {
      const { id } = await client.tasks.start(task, payload);
      return client.runs.wait(id, { signal });
    },
  };
}
