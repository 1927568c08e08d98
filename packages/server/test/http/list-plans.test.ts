// Every list of /v1 and /api, with each filter alone, on a long history: what it reads grows with what it shows.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { fillEnvironment, type FilledEnvironment } from "../support/filled-environment.ts";
import { readPlan, type PlanReads } from "../support/read-plan.ts";
import { recordQueries, type RecordedQuery } from "../support/record-queries.ts";
import { fewOf, newSeed } from "../support/seeded-random.ts";
import { addPerson, firstOrganization } from "../support/tenancy.ts";

/** The long form has a million ended runs. */
const isLong = process.env["KEELSON_LONG_LISTS"] === "1";
const SIZE = isLong
  ? { ended: 1_000_000, live: 200_000, others: 20_000 }
  : { ended: 40_000, live: 8_000, others: 4_000 };
const LIMIT = 20;
/** Rows that a list may read for each row that it returns. */
const MAX_READ_PER_ROW = 20;
/** Rows that a list with two filters may read: how many each lets pass is looked at, up to 1,000 of each. */
const MAX_READ_OF_TWO = 4_000;

/** Rows that one statement of a sifted list may read, whatever it returns: a block of the index of words, or a step. */
const MAX_READ_OF_SIFTED = 6_000;
const isSifted = (query: URLSearchParams): boolean => query.has("search") || query.has("hide");

type List = { path: string; filters: readonly string[] };

/** Lists that are not read from tables, or not of an environment's history. */
const NOT_TABLES: Readonly<Record<string, string>> = {
  "/api/workspaces/{workspace_id}/files": "read from the tree of a version",
  "/api/workspaces/{workspace_id}/versions/{version_id}/diff": "read from two trees",
  "/api/schedules/next-runs": "computed",
  "/v1/error-groups": "at most 10,000 of an environment, whatever its history",
  "/api/error-groups": "at most 10,000 of an environment, whatever its history",
  ...Object.fromEntries(
    ["tasks", "actors", "sandboxes"].flatMap((name) =>
      ["v1", "api"].map((family) => [
        `/${family}/${name}`,
        "declared by the current deployment, at most so many",
      ]),
    ),
  ),
};
/** How a page is asked for, and how long an answer may wait. */
const NOT_FILTERS = new Set([
  "limit",
  "cursor",
  "follow",
  "wait",
  "project_id",
  "environment_id",
  "organization_id",
]);

const root = path.join(import.meta.dirname, "../../../..");

function lists(): List[] {
  return ["v1", "api"].flatMap((family) => {
    const text = readFileSync(path.join(root, "openapi", `${family}.json`), "utf8");
    type Parameter = { name: string; in: string; $ref?: string };
    const document = JSON.parse(text) as {
      paths: Record<string, { get?: { parameters?: Parameter[] } }>;
    };
    return Object.entries(document.paths).flatMap(([listPath, { get }]): List[] => {
      const names = (get?.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
      if (!names.includes("cursor") || listPath in NOT_TABLES) return [];
      return [{ path: listPath, filters: names.filter((name) => !NOT_FILTERS.has(name)) }];
    });
  });
}

/** Values of each filter: what nearly everything is, what hardly anything is, and what nothing is. */
function valuesOf(filled: FilledEnvironment, list: string, filter: string): readonly (readonly string[])[] {
  const of = list.replace(/^\/(v1|api)\//, "");
  switch (filter) {
    case "status":
      return STATUSES[of] ?? [];
    case "task":
      return [["common"], ["rare"], ["absent"]];
    case "actor":
      return [["chat"], ["absent"]];
    case "session_id":
      return [[filled.session]];
    case "schedule_id":
      return [[filled.schedule]];
    case "deployment_id":
      return [[filled.deployment], [filled.rareDeployment]];
    case "parent_run_id":
    case "run_id":
      return [[filled.parentRun], [filled.run]];
    case "error_group_id":
      return [[filled.errorGroup], [filled.rareErrorGroup], [encodeId("err", filled.idOf(0))]];
    case "position":
      return [["1"], ["999"]];
    case "priority":
      return [["0"], ["7"], ["9"]];
    case "tag":
      return [["common"], ["rare"], ["absent"]];
    case "search":
      return [["common"], ["rare"], ["absent"], ["comm*"], ["-common"], ["absent error:absent"]];
    case "hide":
      return [["children"], ["scheduled"]];
    case "created_after":
    case "created_before":
      return [0.001, 0.5, 0.999].map((part) => [filled.createdAt(Math.floor(SIZE.ended * part))]);
    case "external_id":
      return of.startsWith("sessions/by-external-id") ? [["one"]] : [["mine"], ["own-14"], ["absent"]];
    case "order":
      return [["oldest"]];
    case "type":
      return [["imperative"], ["declarative"]];
    case "deduplication_key":
      return [["key-7"], ["absent"]];
    case "sandbox":
      return [["default"], ["rare"], ["absent"]];
    case "received":
      return [["false"]];
    case "correlation_id":
      return [["common"], ["rare"], ["absent"]];
    case "action":
      return [["api_key.create"], ["member.remove"], ["absent"]];
    case "actor_id":
      return [["user_common"], ["user_rare"], ["absent"]];
    case "resource_id":
      return [["key_common"], ["key_rare"], ["absent"]];
    case "stream":
      return [[list.includes("inputs") ? "s3" : "s4"]];
    default:
      return [];
  }
}

const MESSAGE_STATUSES = [["open"]];
const STATUSES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  runs: [
    ...["queued", "running", "waiting", "retry_delayed", "cancel_requested"].map((status) => [status]),
    ...["succeeded", "failed", "cancelled", "expired", "system_failed"].map((status) => [status]),
    ["running", "failed"],
    ["queued", "succeeded"],
    ["waiting", "expired", "succeeded"],
    ["succeeded", "failed"],
  ],
  tokens: [
    ["pending"],
    ["completed"],
    ["cancelled"],
    ["expired"],
    ["pending", "expired"],
    ["completed", "pending"],
  ],
  sessions: [
    ["open"],
    ["closed"],
    ["cancelled"],
    ["failed"],
    ["expired"],
    ["open", "failed"],
    ["closed", "failed"],
  ],
  "sessions/{id}/messages": MESSAGE_STATUSES,
  "sessions/by-external-id/messages": MESSAGE_STATUSES,
  deployments: [["pending"], ["ready"], ["failed"], ["pending", "failed"]],
};

describe("lists on a long history", () => {
  let testDatabase: TestDatabase;
  let server: ApiServer;
  let explained: Database;
  let filled: FilledEnvironment;
  let owner: { token: string; userId: string };
  let tenants: readonly string[];

  before(async () => {
    testDatabase = await createTestDatabase();
    // Retention would drop what is the point of this.
    server = await startApiServer({ database: testDatabase });
    explained = createDatabase({ url: testDatabase.url, poolSize: 1, statementNames: true });
    owner = await addPerson(server, "owner");
    const begun = performance.now();
    filled = await fillEnvironment(server, owner.userId, SIZE);
    console.log(`filled in ${Math.round(performance.now() - begun)} ms`);
    tenants = [
      decodeId("env", server.credentials.environment_id) as Uuid<"env">,
      decodeId("proj", server.credentials.project_id) as Uuid<"proj">,
      await firstOrganization(server),
      owner.userId,
    ];
  });
  after(async () => {
    await explained?.close();
    await server?.stop();
  });

  const fillPath = (list: string): string =>
    list.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      switch (name) {
        case "project_id":
          return server.credentials.project_id;
        case "environment_id":
          return server.credentials.environment_id;
        case "workspace_id":
          return filled.workspace;
        case "exec_id":
          return filled.exec;
        case "pty_id":
          return filled.pty;
        case "stream":
          return list.includes("inputs") ? "s3" : "s4";
        default:
          return list.includes("/sessions/")
            ? filled.session
            : list.includes("/bulk-actions/")
              ? filled.bulkAction
              : list.includes("/runs/")
                ? filled.run
                : list.includes("/deployments/")
                  ? filled.deployment
                  : filled.schedule;
      }
    });

  /** What the server reads of the tenant for one request. */
  const statementsOf = async (
    list: string,
    query: URLSearchParams,
  ): Promise<{ body: { next_cursor?: string | null }; queries: RecordedQuery[] }> => {
    const ask = new URLSearchParams(query);
    ask.set("limit", String(LIMIT));
    // A list without pages takes no limit.
    if (list.endsWith("/logs") && list.startsWith("/api")) ask.delete("limit");
    if (list.includes("by-external-id") && !ask.has("external_id")) ask.set("external_id", "one");
    const isOfPerson = OF_PEOPLE.test(list);
    const isOfOrganization = /^\/api\/(projects|members|invitations|audit-events)$/.test(list);
    if (isOfOrganization) ask.set("organization_id", filled.organization);
    const credential = isOfPerson ? owner.token : server.credentials.api_key;
    let status = 0;
    let text = "";
    // Not by `server.call`: the rows are made up, and how an answer looks is not what this is about.
    const recorded = await recordQueries(async () => {
      const answer = await fetch(`${server.url}${fillPath(list)}?${ask}`, {
        headers: { authorization: `Bearer ${credential}` },
      });
      status = answer.status;
      text = await answer.text();
    });
    assert.equal(status, 200, `${list}?${ask}: ${text}`);
    const queries = recorded.filter(
      ({ text, values }) =>
        /^\s*(SELECT|WITH)\b/i.test(text) && values.some((value) => tenants.includes(String(value))),
    );
    return { body: JSON.parse(text) as { next_cursor?: string | null }, queries };
  };

  /** What each statement of a request reads. */
  const readsOf = async (list: string, query: URLSearchParams): Promise<PlanReads[]> => {
    const { queries } = await statementsOf(list, query);
    assert.ok(queries.length > 0, `${list}?${query}: no statement was seen`);
    const reads: PlanReads[] = [];
    for (const statement of queries) reads.push(await readPlan(explained, statement));
    return reads;
  };

  /** What each of the requests reads too much of. */
  const refused = async (list: string, query: URLSearchParams): Promise<string[]> =>
    (await readsOf(list, query))
      .filter(({ read, returned }) =>
        isSifted(query) ? read > MAX_READ_OF_SIFTED : read > MAX_READ_PER_ROW * Math.max(1, returned),
      )
      .map((reads) => `${list}?${query} ${describeReads(reads)}`);

  /** The same list from a place far behind its beginning. */
  const fromTheMiddle = async (list: string): Promise<URLSearchParams | null> => {
    const { body } = await statementsOf(list, new URLSearchParams());
    const cursor = body.next_cursor;
    if (cursor === null || cursor === undefined) return null;
    const middle = Math.floor(SIZE.others / 3);
    if (/^\d+$/.test(cursor)) return new URLSearchParams({ cursor: String(middle) });
    const [name, tenant, key] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as string[];
    const time = String(Date.parse(filled.createdAt(middle)));
    const moved = /^\d{13}:\d+:/.test(key ?? "")
      ? `${time}:${middle}:${filled.idOf(middle)}`
      : key?.includes("-")
        ? filled.idOf(middle)
        : /^\d{13}$/.test(key ?? "")
          ? time
          : String(middle);
    return new URLSearchParams({
      cursor: Buffer.from(JSON.stringify([name, tenant, moved])).toString("base64url"),
    });
  };

  test("of runs read few rows with two filters, when one of them lets few pass", async () => {
    const list = lists().find(({ path }) => path === "/v1/runs") as List;
    const all = list.filters.flatMap((filter) =>
      valuesOf(filled, list.path, filter).map((values) =>
        values.map((value): [string, string] => [filter, value]),
      ),
    );
    const rare = new Set([
      "rare",
      "absent",
      filled.rareDeployment,
      filled.rareErrorGroup,
      filled.run,
      "7",
      "9",
      "expired",
      "system_failed",
    ]);
    const isRare = (filter: readonly [string, string][]): boolean =>
      filter.every(([, value]) => rare.has(value));
    const pairs = all.flatMap((one, at) =>
      all
        .slice(at + 1)
        .filter((other) => one[0]?.[0] !== other[0]?.[0] && (isRare(one) || isRare(other)))
        .map((other) => [...one, ...other]),
    );
    const found: string[] = [];
    const seed = newSeed();
    console.log(`KEELSON_TEST_SEED=${seed}`);
    const tried = fewOf(pairs, 3, seed);
    for (const pair of tried)
      for (const reads of await readsOf(list.path, new URLSearchParams(pair)))
        if (reads.read > (isSifted(new URLSearchParams(pair)) ? MAX_READ_OF_SIFTED : MAX_READ_OF_TWO))
          found.push(`${new URLSearchParams(pair)} ${describeReads(reads)}`);
    assert.ok(tried.length > 100, `${tried.length} pairs of ${pairs.length}`);
    assert.deepEqual(found, []);
  });

  test("read at most so many rows for each that they show, with each filter alone", async () => {
    const found: string[] = [];
    for (const list of lists()) {
      found.push(...(await refused(list.path, new URLSearchParams())));
      const deep = await fromTheMiddle(list.path);
      if (deep !== null) found.push(...(await refused(list.path, deep)));
      for (const filter of list.filters) {
        const values = valuesOf(filled, list.path, filter);
        assert.ok(values.length > 0, `Say which values the filter ${filter} of ${list.path} is tried with.`);
        for (const value of values)
          found.push(
            ...(await refused(
              list.path,
              new URLSearchParams(value.map((one): [string, string] => [filter, one])),
            )),
          );
      }
    }
    assert.deepEqual(found, []);
  });
});

const describeReads = ({ read, returned, scans }: PlanReads): string =>
  `reads ${read} rows for ${returned}: ${scans.slice(0, 3).join(", ")}`;

const OF_PEOPLE = /^\/api\/(organizations|projects|members|invitations|audit-events|oauth-grants)\b/;
