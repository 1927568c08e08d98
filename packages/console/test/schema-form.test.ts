// What a form asks for by a JSON Schema, what it begins with, and what it finds amiss.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkValue, closestVariant } from "../src/ui/schema-form/check-value.ts";
import { hintOf } from "../src/ui/schema-form/hint-of.ts";
import { fromMembers, initialValue, withMember } from "../src/ui/schema-form/initial-value.ts";
import { describeSchema, type Schema } from "../src/ui/schema-form/json-schema.ts";
import { parseJson, parseNumber, Unparsed } from "../src/ui/schema-form/unparsed.ts";

const TREE: Schema = {
  $defs: {
    node: {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
    },
    endless: { type: "object", required: ["self"], properties: { self: { $ref: "#/$defs/endless" } } },
  },
  $ref: "#/$defs/node",
};

const SHAPES = "oneOf" as const;
const SHAPE: Schema = {
  [SHAPES]: [
    {
      type: "object",
      required: ["kind", "radius"],
      properties: { kind: { const: "circle" }, radius: { type: "number" } },
    },
    {
      type: "object",
      required: ["kind", "side"],
      properties: { kind: { const: "square" }, side: { type: "number" } },
    },
  ],
};

describe("what a schema asks for", () => {
  const rows: [
    string,
    Schema,
    { kind: string; isNullable?: boolean; values?: unknown[]; variants?: string[] },
  ][] = [
    ["nothing", {}, { kind: "json" }],
    ["text", { type: "string" }, { kind: "text" }],
    ["text by its keywords", { minLength: 1 }, { kind: "text" }],
    ["integer", { type: "integer" }, { kind: "integer" }],
    ["number by its keywords", { minimum: 1 }, { kind: "number" }],
    ["boolean", { type: "boolean" }, { kind: "boolean" }],
    ["null alone", { type: "null" }, { kind: "null" }],
    ["object", { properties: { a: {} } }, { kind: "object" }],
    ["object of any members", { type: "object" }, { kind: "json" }],
    ["map", { type: "object", additionalProperties: { type: "number" } }, { kind: "json" }],
    ["object without members", { type: "object", additionalProperties: false }, { kind: "object" }],
    ["list", { type: "array", items: {} }, { kind: "list" }],
    ["tuple", { type: "array", prefixItems: [{}, {}] }, { kind: "json" }],
    ["constant", { const: 5 }, { kind: "values", values: [5] }],
    ["enum", { enum: ["a", 1] }, { kind: "values", values: ["a", 1] }],
    ["enum with null", { enum: ["a", null] }, { kind: "values", values: ["a"], isNullable: true }],
    ["nullable by its types", { type: ["string", "null"] }, { kind: "text", isNullable: true }],
    [
      "nullable by anyOf",
      { anyOf: [{ type: "integer" }, { type: "null" }] },
      { kind: "integer", isNullable: true },
    ],
    ["several types", { type: ["string", "number"] }, { kind: "variants", variants: ["text", "number"] }],
    [
      "constants by anyOf",
      { anyOf: [{ const: "a" }, { const: "b" }] },
      { kind: "values", values: ["a", "b"] },
    ],
    ["objects by oneOf", SHAPE, { kind: "variants", variants: ["kind: circle", "kind: square"] }],
    [
      "titles of a choice",
      {
        oneOf: [
          { title: "A", type: "string" },
          { title: "B", type: "object" },
        ],
      },
      { kind: "variants", variants: ["A", "B"] },
    ],
    ["reference", { $defs: { t: { type: "string" } }, $ref: "#/$defs/t" }, { kind: "text" }],
    ["reference that leads nowhere", { $ref: "#/nowhere" }, { kind: "json" }],
    ["reference to itself", { $ref: "#" }, { kind: "json" }],
    ["choice of itself", { oneOf: [{ $ref: "#" }] }, { kind: "json" }],
    ["parts of itself", { allOf: Array.from({ length: 50 }, () => ({ $ref: "#" })) }, { kind: "json" }],
    ["parts", { allOf: [{ properties: { a: {} } }, { type: "object" }] }, { kind: "object" }],
    ["false", { not: {} }, { kind: "json" }],
  ];
  for (const [name, schema, expected] of rows)
    test(name, () => {
      const { kind, isNullable, values, variants } = describeSchema(schema, schema);
      assert.deepEqual(
        { kind, isNullable, values, variants: variants.map(({ label }) => label) },
        { isNullable: false, values: [], variants: [], ...expected },
      );
    });

  test("members of all parts, each with whether it is needed", () => {
    const schema: Schema = {
      required: ["a"],
      properties: { a: { type: "string" } },
      allOf: [
        { properties: { b: { type: "number" } }, required: ["b"] },
        { properties: { constructor: {} } },
      ],
    };
    const fields = describeSchema(schema, schema).fields.map(({ name, isRequired }) => [name, isRequired]);
    assert.deepEqual(
      Object.fromEntries(fields),
      Object.fromEntries([
        ["b", true],
        ["constructor", false],
        ["a", true],
      ]),
    );
  });
});

describe("what a form begins with", () => {
  const rows: [string, Schema, unknown][] = [
    [
      "nothing that is not needed",
      { type: "object", properties: { a: { type: "string" }, b: { type: "object" } } },
      {},
    ],
    [
      "what is needed",
      {
        properties: { a: { type: "boolean" }, b: { properties: { c: { const: 1 } }, required: ["c"] } },
        required: ["a", "b"],
      },
      { a: false, b: { c: 1 } },
    ],
    ["defaults", { properties: { a: { default: 3 }, b: { type: "array", default: [1] } } }, { a: 3, b: [1] }],
    [
      "examples of what is needed",
      { properties: { a: { examples: ["x"] }, b: { examples: ["y"] } }, required: ["a"] },
      { a: "x" },
    ],
    ["an example of all", { type: "object", properties: { a: {} }, examples: [{ a: 1 }] }, { a: 1 }],
    ["a default before an example", { default: 1, examples: [2] }, 1],
    ["a default behind a reference", { $defs: { t: { default: "d" } }, $ref: "#/$defs/t" }, "d"],
    ["as many items as needed", { type: "array", minItems: 2, items: { type: "boolean" } }, [false, false]],
    ["the first choice", SHAPE, { kind: "circle" }],
    ["no choice among values", { enum: ["a", "b"] }, undefined],
    ["an object that may be null", { type: ["object", "null"], properties: { a: {} } }, {}],
    ["no children of a tree", TREE, {}],
  ];
  for (const [name, schema, expected] of rows)
    test(name, () => assert.deepEqual(initialValue(schema, schema), expected));

  test("an end of what needs itself", () => {
    const root = { ...TREE, $ref: "#/$defs/endless" };
    assert.ok(JSON.stringify(initialValue(root, root)).length < 200);
  });

  test("an end of what needs itself many times", () => {
    const names = Array.from({ length: 20 }, (_, index) => `m${index}`);
    const root: Schema = {
      properties: Object.fromEntries(names.map((name) => [name, { $ref: "#" }])),
      required: names,
    };
    assert.ok(JSON.stringify(initialValue(root, root)).length < 100_000);
  });

  test("members of any name", () => {
    const object = withMember(fromMembers([["a", 1]]), "__proto__", { polluted: true });
    assert.deepEqual(Object.keys(object), ["a", "__proto__"]);
    assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
    assert.deepEqual(withMember({ a: 1, b: 2 }, "a", undefined), { b: 2 });
    assert.deepEqual(Object.keys(withMember({ a: 1, b: 2 }, "a", 3)), ["a", "b"]);
  });
});

describe("what does not fit", () => {
  const rows: [string, Schema, unknown, string[]][] = [
    ["a missing member", { required: ["a"] }, {}, ["payload.a is required"]],
    [
      "a member named as those of all objects",
      { required: ["constructor"] },
      {},
      ["payload.constructor is required"],
    ],
    ["another type", { type: "string" }, 1, ["payload must be string"]],
    ["none of the types", { type: ["object", "null"] }, 1, ["payload must be object or null"]],
    ["a fraction", { type: "integer" }, 1.5, ["payload must be a whole number"]],
    ["too little", { minimum: 1 }, 0, ["payload must be at least 1"]],
    ["the bound itself", { exclusiveMaximum: 3 }, 3, ["payload must be less than 3"]],
    ["tenths", { multipleOf: 0.1 }, 0.3, []],
    ["no multiple", { multipleOf: 2 }, 3, ["payload must be a multiple of 2"]],
    ["an empty text", { minLength: 1 }, "", ["payload must not be empty"]],
    ["characters, not units", { maxLength: 1 }, "😀", []],
    ["a pattern", { pattern: "^a+$" }, "b", ["payload must match ^a+$"]],
    ["a pattern that takes long", { pattern: "^(a+)+$" }, "b".repeat(900), []],
    ["a pattern of many choices", { pattern: `^${"a?".repeat(40)}b$` }, "a".repeat(40), []],
    ["a pattern of many repetitions", { pattern: `^${"a*".repeat(9)}b$` }, "a".repeat(300), []],
    ["a pattern of another language", { pattern: "(?<" }, "b", []],
    ["a date", { format: "date" }, "2026-02-30", ["payload must be a valid date"]],
    ["a time", { format: "date-time" }, "2026-11-20T09:15:00Z", []],
    ["a mail address", { format: "email" }, "nobody", ["payload must be a valid email"]],
    ["an address", { format: "ipv4" }, "1.2.3.256", ["payload must be a valid ipv4"]],
    ["a format of its own", { format: "toString" }, "x", []],
    ["another constant", { const: "a" }, "b", ['payload must be "a"']],
    ["none of the values", { enum: ["a", null] }, "b", ['payload must be one of "a", null']],
    ["equal objects", { const: { a: 1, b: [2] } }, { b: [2], a: 1 }, []],
    ["an item", { items: { type: "number" } }, [1, "2"], ["payload.1 must be number"]],
    ["too few items", { minItems: 1 }, [], ["payload must have at least 1 item"]],
    ["an item twice", { uniqueItems: true }, [{ a: 1 }, { a: 1 }], ["payload must not contain duplicates"]],
    [
      "a tuple",
      { prefixItems: [{ type: "string" }], items: { type: "number" } },
      [1, 1],
      ["payload.0 must be string"],
    ],
    [
      "an unknown member",
      { additionalProperties: false, properties: { a: {} } },
      { b: 1 },
      ["payload.b is not in the declared schema. Remove it"],
    ],
    [
      "a member of a map",
      { additionalProperties: { type: "number" } },
      { b: "x" },
      ["payload.b must be number"],
    ],
    ["what another member needs", { dependentRequired: { a: ["b"] } }, { a: 1 }, ["payload.b is required"]],
    [
      "deep inside",
      TREE,
      { name: "a", children: [{ name: "b" }, {}] },
      ["payload.children.1.name is required"],
    ],
    ["the choice that is meant", SHAPE, { kind: "square", side: "x" }, ["payload.side must be number"]],
    [
      "several choices",
      { oneOf: [{ type: "number" }, { minimum: 1 }] },
      2,
      ["payload matches more than one choice"],
    ],
    ["any choice", { anyOf: [{ type: "number" }, { minimum: 1 }] }, 2, []],
    ["all parts", { allOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, ["payload must be at most 2"]],
    ["what is no number", {}, { a: parseNumber("1x") }, []],
    [
      "what was typed instead of a number",
      { properties: { a: { type: "number" } } },
      { a: parseNumber("1x") },
      ["payload.a must be a number"],
    ],
    ["false", false as unknown as Schema, 1, []],
  ];
  for (const [name, schema, value, expected] of rows)
    test(name, () =>
      assert.deepEqual(
        checkValue(schema, value, schema, "payload").map(({ path, message }) => `${path} ${message}`),
        expected,
      ),
    );

  test("a schema within itself comes to an end", () => {
    const root = { allOf: [{ $ref: "#" }] };
    assert.deepEqual(checkValue(root, 1, root, "payload"), []);
  });

  test("parts and choices that lead to each other come to an end", () => {
    const twice = [{ $ref: "#" }, { $ref: "#" }];
    for (const root of [{ allOf: twice }, { anyOf: [...twice, { type: "number" }] }])
      assert.deepEqual(checkValue(root, 1, root, "payload"), []);
    let nested: Schema = { type: "string" };
    for (let depth = 0; depth < 60; depth += 1) nested = { anyOf: [nested] };
    assert.deepEqual(
      checkValue(nested, 1, nested, "payload").map(({ message }) => message),
      ["must be string"],
    );
  });

  test("finds the variant by its constant before what is amiss elsewhere", () => {
    const variants = SHAPE[SHAPES] as Schema[];
    assert.equal(closestVariant(variants, { kind: "square" }, SHAPE), 1);
    assert.equal(closestVariant([{ type: "string" }, { type: "number", minimum: 5 }], 1, {}), 1);
  });
});

describe("what is typed", () => {
  test("numbers as people write them", () => {
    for (const [text, value] of [
      ["1", 1],
      [" -2.5 ", -2.5],
      ["1e3", 1000],
      [".5", 0.5],
      ["", undefined],
    ] as const)
      assert.equal(parseNumber(text), value);
    for (const text of ["1,5", "9007199254740993", "0x10", "Infinity", "1e999", "one"])
      assert.ok(parseNumber(text) instanceof Unparsed, text);
  });

  test("JSON, or what is wrong with it; the text stays", () => {
    assert.deepEqual(parseJson('{"a": 1}'), { a: 1 });
    assert.equal(parseJson(" "), undefined);
    assert.equal(JSON.stringify({ a: parseJson("{") }), '{"a":"{"}');
  });

  test("hints say what is asked for", () => {
    assert.equal(
      hintOf({ description: "How many", minimum: 1, maximum: 5, examples: [3] }),
      "How many. 1 to 5. For example 3.",
    );
    assert.equal(hintOf({}), null);
  });
});
