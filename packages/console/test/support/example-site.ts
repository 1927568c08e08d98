// A server with a real agent, and with the example of a repository's report deployed as `keelson deploy` does it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client } from "@keelson/sdk";
import { buildBundle } from "../../../cli/src/bundle/build-bundle.ts";
import { deployBundle } from "../../../cli/src/deploy-bundle.ts";
import { startApiServer, type ApiServer } from "../../../server/test/support/api-server.ts";

const EXAMPLE = resolve(import.meta.dirname, "../../../../examples/repository-report");

const quiet = (): void => undefined;

export type ExampleSite = {
  server: ApiServer;
  client: Client;
  /** Where reports may be written. */
  folder: string;
  stop(): Promise<void>;
};

/** With the example deployed. Stop it in an `after` hook. */
export async function startExampleSite(signal: AbortSignal): Promise<ExampleSite> {
  const site = await startAgentSite();
  try {
    await deployBundle(site.client, await buildBundle({ directory: EXAMPLE }), {
      directory: site.folder,
      promote: true,
      timeoutMs: 60_000,
      signal,
      progress: quiet,
    });
    return site;
  } catch (error) {
    await site.stop();
    throw error;
  }
}

/** With nothing deployed yet. Stop it in an `after` hook. */
export async function startAgentSite(): Promise<ExampleSite> {
  const server = await startApiServer();
  const folder = await mkdtemp(join(tmpdir(), "keelson-console-"));
  let agent: RunningAgent | undefined;
  const stop = async (): Promise<void> => {
    await agent?.stop();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
    agent = await startAgent({
      url: server.url,
      enrollmentToken: server.credentials.enrollment_token,
      name: "agent",
      capacity: 4,
      dataDir: join(folder, "agent"),
      version: "0.1.0-test",
      taskEnvironment: { KEELSON_URL: server.url, KEELSON_API_KEY: server.credentials.api_key },
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    return { server, client, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
