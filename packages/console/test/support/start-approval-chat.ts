// A server with the approval chat deployed and a real worker for it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startAgent } from "@keelson/agent";
import { Client } from "@keelson/sdk";
import { buildBundle } from "../../../cli/src/bundle/build-bundle.ts";
import { deployBundle } from "../../../cli/src/deploy-bundle.ts";
import { startApiServer, type ApiServer } from "../../../server/test/support/api-server.ts";

const PROJECT = resolve(import.meta.dirname, "../../../../examples/approval-chat");

export type ApprovalChat = { server: ApiServer; client: Client; stop(): Promise<void> };

/** Stop it in an `after` hook. */
export async function startApprovalChat(): Promise<ApprovalChat> {
  const [server, bundle] = await Promise.all([startApiServer(), buildBundle({ directory: PROJECT })]);
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  const quiet = (): void => undefined;
  const agent = await startAgent({
    url: server.url,
    enrollmentToken: server.credentials.enrollment_token,
    name: "chat",
    capacity: 2,
    dataDir,
    version: "0.1.0-test",
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    taskEnvironment: { KEELSON_URL: server.url, KEELSON_API_KEY: server.credentials.api_key },
  });
  await deployBundle(client, bundle, {
    directory: PROJECT,
    promote: true,
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    progress: quiet,
  });
  return {
    server,
    client,
    stop: async () => {
      await agent.stop();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
