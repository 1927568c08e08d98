// Two hundred requests at once to any one route, as the first that a server hears: nothing is cached, the pool is small,
// and every request wants a connection at the same moment.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Route } from "../../src/http/edge/route.ts";
import { routes } from "../../src/http/routes.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { crashSeconds, isLong, newSeed, seededRandom, type Random } from "../support/seeded-random.ts";
import { addUser } from "../support/tenancy.ts";
import { callRoute, prepareRoutes, type RouteScene } from "./support/route-scene.ts";

const BURST = 200;
/**
 * In the short form a few routes share a server, each as cold as what the others have left in its caches lets it be: starts
 * take longest.
 */
const ROUTES_A_SERVER = isLong() ? 1 : 4;
/** How long it goes on with other routes, drawn at random; the long form has them all. */
const FOR_SECONDS = crashSeconds(6, Number.POSITIVE_INFINITY);
/** A pool that reads inside of transactions stood still here. */
const FIRST = "POST /api/schedules";

/** Sent whole from memory, and larger than all others together: no database is asked. */
const DOCUMENTS = /^\/(openapi\.json|docs(\/.*)?|metrics)$/;

let server: ApiServer;
let scene: RouteScene;
before(async () => {
  server = await startApiServer({ config: { databasePoolSize: 8 } });
  scene = await prepareRoutes(server);
});
after(() => server.stop());

type Replica = Awaited<ReturnType<ApiServer["startReplica"]>>;

/** @returns whether any of the requests succeeded, and when the last was answered. */
async function burst(replica: Replica, route: Route): Promise<{ succeeded: boolean; tookMs: number }> {
  // Some of the routes sign their caller out.
  const user = await addUser(server, "owner");
  const begun = performance.now();
  const statuses = await Promise.all(
    Array.from({ length: BURST }, async () => {
      const { status, text } = await callRoute(scene, { ...server, call: replica.call }, route, user);
      assert.ok(status < 500 || status === 501, `${route.method} ${route.path}: ${status} ${text}`);
      return status;
    }),
  );
  return { succeeded: statuses.some((status) => status < 300), tookMs: performance.now() - begun };
}

const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

function drawRoutes(random: Random): Route[] {
  return routes
    .filter(({ path }) => !DOCUMENTS.test(path))
    .map((route) => ({ route, at: nameOf(route) === FIRST ? -1 : random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ route }) => route);
}

test(`a burst of ${BURST} requests to any one route of a just started server is answered, without an error of the server`, async () => {
  const seed = newSeed();
  const drawn = drawRoutes(seededRandom(seed));
  const until = performance.now() + FOR_SECONDS * 1_000;
  let count = 0;
  let successes = 0;
  let slowest = { told: "", ms: 0 };
  for (let at = 0; at < drawn.length && performance.now() < until; at += ROUTES_A_SERVER) {
    const replica = await server.startReplica();
    try {
      for (const route of drawn.slice(at, at + ROUTES_A_SERVER)) {
        const { succeeded, tookMs } = await burst(replica, route);
        count += 1;
        if (succeeded) successes += 1;
        if (tookMs > slowest.ms) slowest = { told: nameOf(route), ms: tookMs };
      }
    } finally {
      await replica.stop();
    }
  }
  console.log(
    `seed ${seed} · ${count} of ${drawn.length} routes × ${BURST} requests, no 5xx; ${successes} routes with a success; the slowest burst took ${Math.round(slowest.ms)} ms (${slowest.told})`,
  );
  assert.ok(successes > 0);
});
