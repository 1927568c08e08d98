import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client, type Run, type RunEvent } from "@keelson/sdk";
import { deployBundle } from "../../src/deploy-bundle.ts";
import { startApiServer, type ApiServer } from "../../../server/test/support/api-server.ts";
import { bundleSource } from "../../../agent/test/support/sdk-bundle.ts";
import { removeTestFolder } from "../../../server/test/support/test-folder.ts";

export type DurableSite = {
  server: ApiServer;
  client: Client;
  /** An agent more; it ends with the site. */
  agent(capacity?: number): Promise<RunningAgent>;
  /** Resolves with the run when it has an event of that kind. */
  untilEvent(run: Pick<Run, "id">, kind: string): Promise<void>;
  eventsOf(run: Pick<Run, "id">): Promise<RunEvent[]>;
};

/** A server with these tasks deployed, as their first agent has found them. */
export async function startDurableSite(
  t: { after(end: () => Promise<void>): void; readonly signal: AbortSignal },
  source: string,
  options: { parkAfterMs: number },
): Promise<DurableSite & { first: RunningAgent }> {
  const server = await startApiServer({ config: { parkAfterMs: options.parkAfterMs } });
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const agents: RunningAgent[] = [];
  t.after(async () => {
    await Promise.all(agents.map((agent) => agent.stop()));
    await server.stop();
    await removeTestFolder(dataDir);
  });
  const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
  const quiet = (): void => undefined;
  const agent = async (capacity = 4): Promise<RunningAgent> => {
    const started = await startAgent({
      url: server.url,
      enrollmentToken: server.credentials.enrollment_token,
      name: `agent ${agents.length + 1}`,
      capacity,
      dataDir,
      version: "0.1.0-test",
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    agents.push(started);
    return started;
  };
  const first = await agent();
  const bundle = await bundleSource(source);
  const deployment = await deployBundle(client, bundle, {
    directory: dataDir,
    promote: true,
    timeoutMs: 20_000,
    signal: t.signal,
    progress: quiet,
  });
  assert.equal(deployment.isCurrent, true);
  return {
    server,
    client,
    agent,
    first,
    async untilEvent(run, kind) {
      for await (const event of client.runs.events(run.id, { follow: true, signal: t.signal }))
        if (event.kind === kind) return;
      assert.fail(`the run ended without ${kind}`);
    },
    async eventsOf(run) {
      const events: RunEvent[] = [];
      for await (const event of client.runs.events(run.id)) events.push(event);
      return events;
    },
  };
}
