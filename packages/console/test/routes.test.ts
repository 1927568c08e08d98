// Routes as the console knows them. No browser is needed: most of it is what the compiler refuses.

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import type { Run } from "@keelson/contract";
import type { get, getAll, send } from "../src/api/client.ts";
import type { Place } from "../src/api/place.ts";
import { at, type AnswerOf, type Route } from "../src/api/route.ts";
import { createApiKey } from "../src/api/routes/api-keys.ts";
import { listNextRuns } from "../src/api/routes/schedules.ts";
import { cancelRun, getRun, listRuns } from "../src/api/routes/runs.ts";
import { getExec, writeExecStdin } from "../src/api/routes/execs.ts";
import type { useFollow } from "../src/api/use-follow.ts";
import type { useItem } from "../src/api/use-item.ts";

const TABLES = path.join(import.meta.dirname, "../src/api/routes");

test("a route's path is filled in with its parameters, each as one part of the path", () => {
  const { path: filled, method } = at(getExec, { workspace_id: "ws_1", exec_id: "a/../b?c" });
  assert.deepEqual([method, filled], ["GET", "/api/workspaces/ws_1/execs/a%2F..%2Fb%3Fc"]);
  assert.equal(listRuns.items, "runs");
});

test("at run time a route is its method, its path and the field of its rows, and no type", async () => {
  let count = 0;
  for (const file of await readdir(TABLES)) {
    const table = (await import(path.join(TABLES, file))) as Record<string, Route>;
    for (const [name, route] of Object.entries(table)) {
      const { items, ...others } = route;
      assert.deepEqual(Object.keys(others), ["method", "path"], name);
      assert.match(route.path, /^\/(api|admin\/api\/v1)\/[\w/:-]+$/, name);
      assert.ok(items === undefined || /^[a-z_]+$/.test(items), name);
      count += 1;
    }
  }
  assert.ok(count > 100, `${count} routes`);
});

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const isTrue = <T extends true>(): T | undefined => undefined;

type Calls = {
  get: typeof get;
  getAll: typeof getAll;
  send: typeof send;
  useItem: typeof useItem;
  useFollow: typeof useFollow;
};

test("what a route gives has the type of its schema", () => {
  isTrue<Equal<AnswerOf<typeof getRun>, Run>>();
  const compiled = async (calls: Calls, place: Place): Promise<void> => {
    const rows = await calls.getAll(listRuns, place);
    isTrue<Equal<typeof rows, Run[]>>();
    const run = await calls.get(at(getRun, { id: "run_1" }), place);
    isTrue<Equal<typeof run, Run>>();
  };
  assert.equal(typeof compiled, "function");
});

test("a wrong route, parameter or field does not compile", () => {
  const refused = (calls: Calls, place: Place): void => {
    // @ts-expect-error -- a path is no route
    void calls.get("/api/runs", place);
    // @ts-expect-error -- its path is not filled in
    void calls.get(getRun, place);
    // @ts-expect-error -- its parameter has another name
    at(getRun, { runId: "run_1" });
    // @ts-expect-error -- it has another parameter, too
    at(getExec, { workspace_id: "ws_1" });
    // @ts-expect-error -- it is of an environment, which must be named
    void calls.get(listRuns, {});
    // @ts-expect-error -- there is no such status
    void calls.get(listRuns, { ...place, status: "done" });
    // @ts-expect-error -- there is no such filter
    calls.useItem(listRuns, { query: { statuses: ["failed"] } });
    // @ts-expect-error -- it needs an expression and a zone
    calls.useItem(listNextRuns);
    // @ts-expect-error -- it is no list
    void calls.getAll(at(getRun, { id: "run_1" }), place);
    // @ts-expect-error -- it cannot be followed
    calls.useFollow(at(getRun, { id: "run_1" }), { onEvents: () => undefined });
    // @ts-expect-error -- its body names the environment
    void calls.send(at(cancelRun, { id: "run_1" }));
    const key = at(createApiKey, place);
    // @ts-expect-error -- it needs a name
    void calls.send(key, { body: {} });
    // @ts-expect-error -- there is no such permission
    void calls.send(key, { body: { name: "CI", permissions: ["runs.see"] } });
    const stdin = at(writeExecStdin, { workspace_id: "ws_1", exec_id: "exec_1" });
    // @ts-expect-error -- it takes bytes
    void calls.send(stdin, { query: place, body: "text" });
  };
  assert.equal(typeof refused, "function");
});
