import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createPayloadValidator, payloadSchemaIssues } from "./payload-validator.ts";
import { isLinearPattern, needsWatch, schemaCost } from "./schema-cost.ts";

describe("payload schemas", () => {
  for (const [keyword, schema, payload, issue] of [
    ["required", { required: ["a"] }, {}, { path: "payload.a", message: "is required; add it" }],
    ["type", { type: ["string", "null"] }, 1, { path: "payload", message: "must be string or null" }],
    ["enum", { enum: ["a", 2] }, 1, { path: "payload", message: 'must be one of "a", 2' }],
    ["const", { const: { a: 1 } }, 1, { path: "payload", message: 'must be {"a":1}' }],
    ["format", { format: "email" }, "x", { path: "payload", message: "must be a valid email" }],
    [
      "additionalProperties",
      { properties: { "a/b": { items: { additionalProperties: false } } } },
      { "a/b": [{}, { c: 1 }] },
      { path: "payload.a/b.1.c", message: "is not in the declared schema; remove it" },
    ],
    ["minimum", { minimum: 3 }, 2, { path: "payload", message: "must be >= 3" }],
    [
      "$ref",
      { $ref: "#/$defs/n", $defs: { n: { type: "number" } } },
      "x",
      { path: "payload", message: "must be number" },
    ],
    [
      "prefixItems of 2020-12",
      { prefixItems: [{ type: "number" }] },
      ["x"],
      { path: "payload.0", message: "must be number" },
    ],
    [
      "items of draft 7",
      { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "number" }] },
      ["x"],
      { path: "payload.0", message: "must be number" },
    ],
  ] as const) {
    test(`say where ${keyword} is broken and what to do`, () => {
      assert.deepEqual(payloadSchemaIssues(schema, "s"), []);
      assert.deepEqual(createPayloadValidator(schema)(payload), [issue]);
    });
  }

  test("take a payload that fits, with and without a watch", () => {
    assert.deepEqual(createPayloadValidator({ type: "object" })({ a: 1 }), []);
    assert.deepEqual(createPayloadValidator({ uniqueItems: true })([1, 2]), []);
  });

  const doubling = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      `d${index}`,
      { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  );
  for (const [what, schema, payload] of [
    ["a pattern that backtracks", { pattern: "^(a+)+$" }, `${"a".repeat(40)}b`],
    ["references that double", { $ref: "#/$defs/d0", $defs: { ...doubling, d60: { const: 1 } } }, 2],
    [
      "items compared with each other",
      { uniqueItems: true },
      Array.from({ length: 100_000 }, (_, index) => ({ index })),
    ],
    [
      "a wide schema over a long payload",
      { items: { anyOf: Array.from({ length: 400 }, (_, index) => ({ const: `x${index}` })) } },
      Array.from({ length: 80_000 }, () => "y")
        .map((text, index) => text + index)
        .concat("x0"),
    ],
    ["a recursion without end", { $ref: "#" }, 1],
  ] as const) {
    test(`end a check of ${what}`, () => {
      assert.deepEqual(payloadSchemaIssues(schema, "s"), []);
      const issues = createPayloadValidator(schema)(payload);
      assert.equal(issues.length, 1);
    });
  }

  test("are watched only where there is no bound", () => {
    assert.equal(
      needsWatch(schemaCost({ type: "object", properties: { week: { type: "integer" } } }), { week: 1 }),
      false,
    );
    assert.equal(
      needsWatch(schemaCost({ properties: { slug: { pattern: "^[a-z0-9-]+$" } } }), { slug: "a" }),
      false,
    );
    assert.equal(needsWatch(schemaCost({ properties: { slug: { pattern: "a+b" } } }), { slug: "a" }), true);
    assert.equal(needsWatch(schemaCost({ items: { $ref: "#" } }), []), true);
    assert.equal(needsWatch(schemaCost({ type: "string" }), "x".repeat(600_000)), true);
  });

  for (const [pattern, linear] of [
    ["^[a-z]+$", true],
    ["^\\d{4}-\\d{2}$", true],
    ["^a{0,200}b{0,200}$", false],
    ["[a-z]+$", false],
    ["^(a|b)$", false],
    ["^a|b$", false],
    ["^a*a*$", false],
    ["^(a)\\1$", false],
    ["^[\\]a]+[b]+$", false],
  ] as const) {
    test(`${pattern} is ${linear ? "" : "not "}certainly linear`, () =>
      assert.equal(isLinearPattern(pattern), linear));
  }
});
