// One environment sends many requests at once; those that others send after them do not wait for all of them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { addApiKey, addForeignPlace } from "../support/tenancy.ts";
import { createTestClock } from "../support/test-clock.ts";

/** Much more than an environment has done in a round. */
const FLOOD = 200;
/** Of these so many may be answered before the other's: a few rounds. All of them stand in front of it. */
const MOST_BEFORE = FLOOD / 4;

const clock = createTestClock();
let server: ApiServer;
let otherKey: string;
before(async () => {
  // While its time stands still, two environments that have called share the server.
  server = await startApiServer({ clock: clock.now });
  const { environmentId } = await addForeignPlace(server);
  otherKey = await addApiKey(server, ["runs.read"], { environmentId });
});
after(() => server?.stop());

const list = async (as?: string): Promise<Answer> => {
  const answer = await server.call("GET", "/v1/runs?limit=1", as === undefined ? {} : { as });
  assert.equal(answer.status, 200, answer.text);
  return answer;
};

/** Sends the requests of one environment and then those of the other. @returns how many of the first were answered before */
async function countBefore(others: number): Promise<number[]> {
  let answered = 0;
  const flood = Array.from({ length: FLOOD }, () => list().then(() => (answered += 1)));
  const before = Array.from({ length: others }, () => list(otherKey).then(() => answered));
  const counts = await Promise.all(before);
  await Promise.all(flood);
  assert.equal(answered, FLOOD);
  return counts;
}

test("a request of one environment is answered before most of those that another sent earlier", async () => {
  // Connections that are open, and credentials that are known: the server has all requests in one turn of its event loop.
  await countBefore(3);
  const counts = await countBefore(3);
  assert.ok(Math.max(...counts) <= MOST_BEFORE, `${counts.join(", ")} of ${FLOOD} were answered before`);
});
