// What is open under a credential ends when the credential expires, as it does when it is revoked.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { startSession } from "../support/session-scene.ts";
import { addApiKey, addPerson, place } from "../support/tenancy.ts";
import { errorIn, follow } from "./support/open-stream.ts";

/** The server waits so long by its timers before it looks at its clock. */
const SHORT_MS = 1_000;
const LONG_MS = 3_600_000;

let scene: RunScene;
let session: { id: string };
let run: { id: string };
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
  session = await startSession(scene);
  run = await scene.start("plain");
});
after(() => scene.stop());

const expiryOf = (lifeMs: number): Date => new Date(scene.clock.now() + lifeMs);

/** For two streams: a look at one that is open is no use of its token. */
async function mint(scope: object, lifeMs: number): Promise<string> {
  const body = { scope, expires_in: `${lifeMs / 1_000}s`, max_uses: 2 };
  const minted = await scene.call("POST", "/api/public-access-tokens", { body });
  assert.equal(minted.status, 201, minted.text);
  return minted.body.public_access_token;
}

const output = (query = "follow=1"): string => `sessions/${session.id}/outputs/output/read?${query}`;
const mintChat = (lifeMs: number): Promise<string> =>
  mint({ type: "session.chat", session: { type: "id", id: session.id } }, lifeMs);

type Opener = { path(): string; credential(lifeMs: number): Promise<string> };

const OPENERS: Record<string, Opener> = {
  "a page's token for a session": { path: () => `/api/v1/${output()}`, credential: mintChat },
  "a page's token for a run": {
    path: () => `/api/v1/runs/${run.id}?follow=1`,
    credential: (lifeMs) => mint({ type: "run.read", run: run.id }, lifeMs),
  },
  "an API key": {
    path: () => `/api/${output()}`,
    credential: (lifeMs) => addApiKey(scene.server, ["sessions.read"], { expiresAt: expiryOf(lifeMs) }),
  },
  "a person's session": {
    path: () => `/api/${output()}&${new URLSearchParams(place(scene.server))}`,
    credential: async (lifeMs) => {
      const { token } = await addPerson(scene.server, "viewer", { expiresAt: expiryOf(lifeMs) });
      return token;
    },
  },
};

describe("an event stream ends when what it was opened with expires:", { timeout: 120_000 }, () => {
  for (const [name, { path, credential }] of Object.entries(OPENERS))
    test(name, async () => {
      const [short, long] = [await credential(SHORT_MS), await credential(LONG_MS)];
      const kept = await follow(scene.server, long, path());
      const opened = [await follow(scene.server, short, path()), await follow(scene.server, short, path())];
      assert.ok(opened.every((stream) => stream.isOpen()));
      scene.clock.advance(SHORT_MS);
      for (const { ended } of opened) assert.equal(errorIn((await ended).text)?.code, "unauthenticated");
      assert.ok(kept.isOpen());
      kept.close();
    });
});

test("a read that waits is answered with the refusal", { timeout: 120_000 }, async () => {
  const as = await mintChat(SHORT_MS);
  const waiting = scene.call("GET", `/api/v1/${output("wait=60s")}`, { as });
  // It was let in later, and so was the read before it.
  const stream = await follow(scene.server, as, `/api/v1/${output()}`);
  scene.clock.advance(SHORT_MS);
  await stream.ended;
  const { status, body } = await waiting;
  assert.deepEqual([status, body.error?.code], [401, "unauthenticated"]);
});
