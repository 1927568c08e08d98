// Every statement of the server, prepared on the migrated schema, and its columns beside the row that its caller declares.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import path from "node:path";
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "../packages/server/test/support/database.ts";
import { checkRow } from "./sql/check-row.ts";
import { createDescribe, type DescribeStatement } from "./sql/describe-statement.ts";
import { readSourceFiles } from "./sql/read-files.ts";
import { readStatements, type Template } from "./sql/read-statements.ts";
import { createTypeReader } from "./sql/read-types.ts";
import { keyOf, recordStatements, type Recorded } from "./sql/record-statements.ts";
import type { Shape } from "./sql/shape.ts";

const root = path.join(import.meta.dirname, "..");

/** Statements that no call with samples reaches, or that are not prepared. Each entry is needed. */
const ELSEWHERE: readonly { file: string; because: string }[] = [
  { file: "loops/look-for-due.ts", because: "the conditions in it are prepared one by one" },
  {
    file: "storage-space.ts",
    because: "it makes and drops a table of its own, in http/storage-full.test.ts",
  },
  { file: "executions/vacuum-writes.ts", because: "VACUUM cannot be prepared" },
];

const files = readSourceFiles(root);
const statements = readStatements(files, createTypeReader(files), (file) =>
  /\/server\/src\/(core|http|loops)\//.test(file),
);
const shown = (key: string): string => path.relative(root, key);
const isElsewhere = (file: string): boolean => ELSEWHERE.some((entry) => file.endsWith(entry.file));

/** Whether the text has all pieces of the template in their order; its values are what stands between them. */
function hasPieces(text: string, { pieces }: Template): boolean {
  let at = 0;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return true;
}

describe("statements", () => {
  let testDatabase: TestDatabase;
  let client: pg.Client;
  let describeStatement: DescribeStatement;
  let recorded: readonly Recorded[];
  before(async () => {
    recorded = await recordStatements(statements);
    testDatabase = await createTestDatabase();
    client = new pg.Client({ connectionString: testDatabase.url });
    await client.connect();
    describeStatement = await createDescribe(client);
    // Statements that follow read them.
    const tables = new Map(recorded.map(({ text }) => [/^CREATE TEMP TABLE (\w+)/.exec(text)?.[1], text]));
    tables.delete(undefined);
    for (const text of tables.values()) await client.query(text);
  });
  after(async () => {
    await client?.end();
    await testDatabase?.drop();
  });

  test("are all reached: each call of query, and each template", () => {
    const reached = new Set(recorded.map(({ call }) => call));
    const calls = statements.calls.filter((call) => !reached.has(keyOf(call)));
    const templates = statements.templates.filter(
      (template) => !recorded.some(({ text }) => hasPieces(text, template)),
    );
    const missed = [...calls, ...templates].filter(({ file }) => !isElsewhere(file.path));
    assert.deepEqual([...new Set(missed.map((one) => shown(keyOf(one))))], []);
    for (const { file } of ELSEWHERE)
      assert.ok(
        [...calls, ...templates].some((one) => one.file.path.endsWith(file)),
        `${file} is reached: take it off the list.`,
      );
    assert.ok(statements.calls.length > 400, `only ${statements.calls.length} calls were found`);
  });

  test("can all be prepared, and return the columns that their callers declare", async () => {
    const rows = new Map(statements.calls.map((call) => [keyOf(call), call.row]));
    const wrong: string[] = [];
    for (const { text, call } of recorded) {
      if (isElsewhere(call.replace(/:\d+:\d+$/, ""))) continue;
      const described = await describeStatement(text);
      if ("error" in described) {
        wrong.push(`${shown(call)}: ${described.error}\n${text}`);
        continue;
      }
      const row = rows.get(call) ?? null;
      if (row !== null)
        wrong.push(...checkRow(row, described.columns).map((what) => `${shown(call)}: ${what}`));
    }
    assert.deepEqual([...new Set(wrong)], []);
  });

  test("are refused when a column is missing, not declared, twice there, or of another type", async () => {
    const row: Shape = {
      kind: "object",
      fields: new Map<string, { shape: Shape; optional: boolean }>([
        ["id", { shape: { kind: "string" }, optional: false }],
        ["createdAt", { shape: { kind: "number" }, optional: false }],
        ["tags", { shape: { kind: "list", of: { kind: "string" } }, optional: false }],
      ]),
    };
    const check = async (text: string): Promise<string[]> => {
      const described = await describeStatement(text);
      return "error" in described ? [described.error] : checkRow(row, described.columns);
    };
    assert.deepEqual(await check(`SELECT id, created_at AS "createdAt", tags FROM tokens WHERE id = $1`), []);
    assert.deepEqual(await check(`SELECT id, updated_at, tags, status FROM tokens`), [
      "It returns the column updatedAt, which the row does not declare.",
      "It returns the column status, which the row does not declare.",
      "It returns no column createdAt, which the row declares.",
    ]);
    assert.deepEqual(
      await check(`SELECT id, id, created_at::text AS "createdAt", data AS tags FROM tokens`),
      [
        "It returns the column id twice.",
        "Its column createdAt is of the type text; the row declares number.",
        "Its column tags is of the type text; the row declares string[].",
      ],
    );
    assert.deepEqual(await check(`SELECT idd FROM tokens`), [`column "idd" does not exist`]);
  });
});
