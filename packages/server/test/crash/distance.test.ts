// PostgreSQL is far away: what somebody waits for at a terminal or for a command is counted in round trips, one after the
// other, from the client's call to what the client sees.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { patience } from "../support/until.ts";
import { startDistantPostgres, type DistantPostgres } from "./support/distant-postgres.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { followToEnd } from "./support/event-source.ts";
import { assertRoundTrips } from "./support/round-trips.ts";
import type { ServerProcess } from "./support/site.ts";
import { startWorkspaceSite, type WorkspaceSite } from "./support/workspace-site.ts";

let distant: DistantPostgres;
let site: WorkspaceSite;
let workspace: string;
/** The agent polls at the first of them. */
let urls: string[];
before(async () => {
  site = await startWorkspaceSite({
    servers: 2,
    leaseDuration: "60s",
    databaseUrlOf: async (url) => (distant ??= await startDistantPostgres(url)).url,
  });
  urls = site.servers.map(({ url }: ServerProcess) => url);
  await site.startAgent();
  workspace = (await site.create()).id;
  assert.equal((await site.act(workspace, "connect")).status, 200);
});
after(async () => {
  await site?.stop();
  await distant?.close();
});

type Terminal = {
  /** Types a key; resolves when its echo is seen. */
  type(key: string): Promise<void>;
  close(): Promise<void>;
};

/** A terminal that says again what is typed, typed into and followed at a server. */
async function openTerminal(url: string): Promise<Terminal> {
  const api = `/api/workspaces/${workspace}/pty`;
  const options = { timeoutMs: patience() };
  const opened = await site.call(url, "POST", api, {
    ...options,
    body: { command: ["sh", "-c", "stty raw -echo; echo ready; exec cat"] },
  });
  assert.equal(opened.status, 201, JSON.stringify(opened.body));
  const path = `${api}/${opened.body.id}`;
  let received = "";
  let isTold = Promise.withResolvers<void>();
  const end = new AbortController();
  const followed = followToEnd({
    ...{ urls: [url], path: `${path}/output`, credential: site.credentials.api_key, cutAfterMs: null },
    ...{ random: seededRandom(1), signal: end.signal },
    onReceived: ({ data }) => {
      received += Buffer.from(JSON.parse(data).data, "base64").toString();
      isTold.resolve();
    },
  });
  const seen = async (length: number): Promise<void> => {
    while (received.length < length) {
      await isTold.promise;
      isTold = Promise.withResolvers();
    }
  };
  await seen("ready\r\n".length - 1);
  return {
    type: async (key) => {
      const length = received.length;
      const [sent] = await Promise.all([
        site.call(url, "POST", `${path}/input`, { ...options, bytes: Buffer.from(key) }),
        seen(length + 1),
      ]);
      assert.equal(sent.status, 200, JSON.stringify(sent.body));
      assert.equal(received.slice(length), key);
    },
    close: async () => {
      end.abort();
      await followed;
      await site.call(url, "POST", `${path}/close`, options);
    },
  };
}

async function run(url: string, script: string): Promise<void> {
  const { status, body } = await site.call(url, "POST", `/v1/workspaces/${workspace}/exec`, {
    body: { command: ["sh", "-c", script] },
    timeoutMs: patience(),
  });
  assert.deepEqual([status, body.status, body.exit_code], [200, "exited", 0], JSON.stringify(body));
}

describe("a client at the server where the worker polls", () => {
  test("sees the echo of a key after at most four round trips to PostgreSQL", async () => {
    const terminal = await openTerminal(urls[0] as string);
    await assertRoundTrips(distant, 4, () => terminal.type("k"));
    await terminal.close();
  });

  test("sees the end of a command that changes files after at most twelve", async () => {
    let count = 0;
    await assertRoundTrips(distant, 12, () => run(urls[0] as string, `echo ${(count += 1)} | tee count`));
  });

  test("sees the end of a command that changes nothing after at most seven", async () => {
    await assertRoundTrips(distant, 7, () => run(urls[0] as string, "echo hello"));
  });
});

test("a workspace is created after at most six round trips, and its first command is stored after seven", async () => {
  const url = urls[0] as string;
  let id = "";
  const create = async (): Promise<void> => {
    const { status, body } = await site.call(url, "POST", "/api/workspaces", {
      body: {},
      timeoutMs: patience(),
    });
    assert.equal(status, 201, JSON.stringify(body));
    id = body.id;
  };
  const command = async (): Promise<void> => {
    const body = { command: ["echo", "first"] };
    const path = `/api/workspaces/${id}/execs`;
    assert.equal((await site.call(url, "POST", path, { body, timeoutMs: patience() })).status, 201);
  };
  await assertRoundTrips(distant, 6, create);
  await assertRoundTrips(distant, 7, command, create);
});

describe("a client at another server", () => {
  test("sees the echo of a key after at most eight round trips", async () => {
    const terminal = await openTerminal(urls[1] as string);
    await assertRoundTrips(distant, 8, () => terminal.type("k"));
    await terminal.close();
  });

  test("sees the end of a command that changes files after at most sixteen", async () => {
    let count = 0;
    await assertRoundTrips(distant, 16, () => run(urls[1] as string, `echo ${(count -= 1)} | tee count`));
  });
});
