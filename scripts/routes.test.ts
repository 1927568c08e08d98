import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonObject, Nullable, Page, PutSecret, Run, Timestamp } from "@keelson/contract";
import { routes } from "../packages/server/src/http/routes.ts";
import { consoleRoutes } from "./routes/console-routes.ts";
import { typeText } from "./routes/type-text.ts";

const of = (schema: object): string => typeText(schema, new Set());

test("a schema of the contract is told by its name, and imported", () => {
  const imports = new Set<string>();
  assert.equal(
    typeText(Page("runs", Run), imports),
    "{ runs: Run[]; next_cursor: string | null }",
    "inside of another, too",
  );
  assert.equal(typeText(PutSecret, imports), "PutSecret");
  assert.deepEqual([...imports], ["Run", "PutSecret"]);
});

test("every other schema is told as the type of what fits it", () => {
  assert.equal(of(Timestamp), "string");
  assert.equal(of(Nullable(JsonObject)), "Record<string, unknown> | null");
  assert.equal(of({ type: "array", items: { enum: ["a", "b"] } }), `("a" | "b")[]`);
  assert.equal(of({ type: "object", properties: { a: { type: "integer" } } }), "{ a?: number }");
  assert.equal(of({ anyOf: [{ const: true }, { type: "null" }] }), "true | null");
  assert.throws(() => of({ type: "function" }), /no type for a schema of type function/);
});

test("the console has every route that a person's session may call, once", () => {
  const text = [...consoleRoutes(routes).values()].join("");
  const names = [...text.matchAll(/export const (\w+)/g)].map(([, name]) => name);
  const wanted = routes.filter(
    ({ family, path }) => (family === "api" && !path.startsWith("/api/worker/")) || family === "admin",
  );
  assert.equal(new Set(names).size, names.length);
  assert.equal(names.length, wanted.length);
});
