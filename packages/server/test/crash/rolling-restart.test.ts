// Servers behind a load balancer are upgraded while they are called, first the tables, then one server after the other: no request is
// cut or refused.

import assert from "node:assert/strict";
import { Agent, createServer, request, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { migrate } from "../../src/db/migrate.ts";
import { readMigrations } from "../../src/db/migration-files.ts";
import { isLong } from "../support/seeded-random.ts";
import { makeTestFolder, removeTestFolder } from "../support/test-folder.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

/** None of them rests: with four there is always a request on its way, and more take all of a processor. */
const CALLERS = isLong() ? 16 : 4;
/** Each server once, at least. */
const RESTARTS = isLong() ? 4 : 2;
const LOOK_MS = 50;

/** Sends each request to a server that said lately that it is ready, on connections that it keeps. */
class Balancer {
  readonly #upstreams: { url: URL; agent: Agent; isReady: boolean }[];
  readonly #server: Server;
  readonly #looking: NodeJS.Timeout;
  #next = 0;

  constructor(servers: readonly ServerProcess[]) {
    this.#upstreams = servers.map(({ url }) => ({
      url: new URL(url),
      agent: new Agent({ keepAlive: true }),
      isReady: true,
    }));
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#server = createServer((incoming, response) => {
      const ready = this.#upstreams.filter(({ isReady }) => isReady);
      this.#next += 1;
      const upstream = ready[this.#next % ready.length];
      if (upstream === undefined) return void response.writeHead(502).end();
      const { method, url, headers } = incoming;
      const forwarded = request(new URL(url ?? "", upstream.url), { method, headers, agent: upstream.agent });
      forwarded.on("response", (answer) => {
        response.writeHead(answer.statusCode ?? 502);
        answer.pipe(response);
      });
      forwarded.on("error", (error) => response.writeHead(502).end(error.message));
      incoming.pipe(forwarded);
    });
  }

  #look(): void {
    for (const upstream of this.#upstreams)
      void fetch(new URL("/readyz", upstream.url)).then(
        ({ ok }) => (upstream.isReady = ok),
        () => (upstream.isReady = false),
      );
  }

  isReady(server: ServerProcess): boolean {
    return this.#upstreams.find(({ url }) => url.origin === server.url)?.isReady === true;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    clearInterval(this.#looking);
    this.#server.close();
    this.#server.closeAllConnections();
    for (const { agent } of this.#upstreams) agent.destroy();
  }
}

let site: Site;
before(async () => {
  site = await startSite({
    servers: 2,
    leaseDuration: "60s",
    // Many times as long as the balancer needs to notice.
    serverEnv: { KEELSON_DRAIN_DELAY: "2s" },
  });
  const worker = await enrollRawWorker(site, site.servers[0] as ServerProcess, "checker");
  const deployment = await createDeployment(site, bundleOf({ a: "return 1;" }), [{ id: "a" }]);
  await worker.passCheck(["a"]);
  await promoteWhenReady(site, deployment);
});
after(() => site?.stop());

/** As a later release changes tables that every start writes. */
const NEWER = {
  "9001_columns.sql":
    "ALTER TABLE runs ADD COLUMN newer integer NOT NULL DEFAULT 0;\nALTER TABLE executions ADD COLUMN newer text;\n",
};

async function migrateToNewer(): Promise<void> {
  const directory = await makeTestFolder();
  try {
    for (const { name, text } of await readMigrations()) await writeFile(path.join(directory, name), text);
    for (const [name, text] of Object.entries(NEWER)) await writeFile(path.join(directory, name), text);
    assert.deepEqual(await migrate(site.postgres.url, { directory }), Object.keys(NEWER));
  } finally {
    await removeTestFolder(directory);
  }
}

test("no request is lost in an upgrade, and each server says that its connections end", async () => {
  const balancer = new Balancer(site.servers);
  const url = await balancer.open();
  const agent = new Agent({ keepAlive: true });
  const over = new AbortController();
  const failed: string[] = [];
  let accepted = 0;
  const call = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const { status, text } = await start(url, agent, site.credentials.api_key);
      if (status === 201) accepted += 1;
      else failed.push(`${status} ${text}`);
    }
  };
  const callers = Array.from({ length: CALLERS }, call);
  try {
    await until("starts are accepted", 20_000, async () => accepted > CALLERS);
    await migrateToNewer();
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const server = site.servers[restart % 2] as ServerProcess;
      const other = site.servers[(restart + 1) % 2] as ServerProcess;
      await until(
        "both servers are in use",
        20_000,
        async () => balancer.isReady(server) && balancer.isReady(other),
      );
      server.signal("SIGTERM");
      await until("it has left the balancer", 20_000, async () => !balancer.isReady(server));
      const late = await fetch(`${server.url}/healthz`, { keepalive: true });
      assert.deepEqual([late.status, late.headers.get("connection")], [200, "close"]);
      await server.ended();
      await server.start();
    }
  } finally {
    over.abort();
    await Promise.all(callers);
    balancer.close();
    agent.destroy();
  }
  assert.deepEqual(failed, []);
  assert.ok(accepted > RESTARTS * CALLERS);
  console.log(`${accepted} starts in a migration and ${RESTARTS} restarts, none of them lost`);
});

async function start(url: string, agent: Agent, apiKey: string): Promise<{ status: number; text: string }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const sent = request(`${url}/v1/tasks/a/start`, { method: "POST", agent, headers }, resolve);
    sent.on("error", reject);
    sent.end('{"delay":"1d"}');
  });
  let text = "";
  for await (const bytes of answer) text += String(bytes);
  return { status: answer.statusCode ?? 0, text };
}
