import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { elicitationForm } from "./elicitation-form.ts";

const form = (metadata: Record<string, unknown>, tags: string[] = []) =>
  elicitationForm({ id: "tok_1", metadata, tags });
const fieldsOf = (properties: object): unknown =>
  form({ schema: { type: "object", properties } }).requestedSchema["properties"];

describe("the form of a token", () => {
  test("says what the token is for, or which one it is", () => {
    assert.equal(form({ question: "Send it?" }).message, "Send it?");
    assert.match(form({ question: 7 }).message, /tok_1/);
  });

  test("is a yes or no for an approval, with a refusal", () => {
    const { requestedSchema, toData, declined } = form({}, ["Approval"]);
    assert.deepEqual(requestedSchema, {
      type: "object",
      properties: { approved: { type: "boolean", title: "Approve" } },
      required: ["approved"],
    });
    assert.deepEqual(toData({ approved: true }), { data: { approved: true } });
    assert.ok("issues" in toData({}));
    assert.deepEqual(declined, { data: { approved: false } });
    const own = form({ schema: { type: "object", properties: { ok: { type: "boolean" } } } });
    assert.deepEqual(own.declined, { data: { ok: false } });
  });

  test("has the protocol's fields for what the protocol knows", () => {
    assert.deepEqual(
      fieldsOf({
        name: { type: "string", title: "Name", minLength: 1, maxLength: 9, pattern: "^a", format: "email" },
        zone: { type: "string", format: "hostname", default: "eu" },
        count: { type: "integer", minimum: 1, maximum: 5, exclusiveMinimum: 0, default: "many" },
        color: { enum: ["red", "blue"], description: "Of the door." },
        size: { oneOf: [{ const: "s", title: "Small" }, { const: "l" }] },
      }),
      {
        name: { type: "string", title: "Name", minLength: 1, maxLength: 9, format: "email" },
        zone: { type: "string", default: "eu" },
        count: { type: "integer", minimum: 1, maximum: 5 },
        color: { type: "string", description: "Of the door.", enum: ["red", "blue"] },
        size: {
          type: "string",
          oneOf: [
            { const: "s", title: "Small" },
            { const: "l", title: "l" },
          ],
        },
      },
    );
  });

  test("asks for everything else as JSON", () => {
    const list = { type: "array", items: { type: "integer" }, title: "Days", description: "Of the week." };
    const { requestedSchema, toData } = form({ schema: { type: "object", properties: { list } } });
    assert.deepEqual(requestedSchema["properties"], {
      list: { type: "string", title: "Days", description: "Of the week. Enter JSON." },
    });
    assert.deepEqual(toData({ list: "[1, 2]" }), { data: { list: [1, 2] } });
    assert.deepEqual(toData({ list: "[1" }), {
      issues: [{ path: "content.list", message: "must be JSON, such as [1, 2] or {}" }],
    });
    assert.ok("issues" in toData({ list: '["x"]' }));
    assert.ok("issues" in toData({ list: "[1]", more: 1 }));
    const referred = { $defs: { n: { type: "integer" } }, $ref: "#/$defs/n" };
    assert.deepEqual(form({ schema: referred }).toData({ answer: "4" }), { data: 4 });
  });

  test("has one field for a value that is no object", () => {
    const { requestedSchema, toData, declined } = form({ schema: { type: "string", minLength: 2 } });
    assert.deepEqual(requestedSchema, {
      type: "object",
      properties: { answer: { title: "Answer", type: "string", minLength: 2 } },
      required: ["answer"],
    });
    assert.deepEqual(toData({ answer: "12" }), { data: "12" });
    assert.ok("issues" in toData({ answer: "1" }));
    assert.ok("issues" in toData({}));
    assert.equal(declined, undefined);
  });

  test("takes text or JSON where nothing is declared", () => {
    const { toData } = form({});
    assert.deepEqual(toData({ answer: "later" }), { data: "later" });
    assert.deepEqual(toData({ answer: '{"a":1}' }), { data: { a: 1 } });
    assert.deepEqual(toData({}), { data: null });
  });

  test("refuses nothing by a schema that cannot be used", () => {
    const schema = { type: "object", properties: { a: { type: "string", pattern: "(" } } };
    assert.deepEqual(form({ schema }).toData({ a: "x" }), { data: { a: "x" } });
  });

  test("keeps names that objects inherit apart", () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
    assert.ok("issues" in form({ schema }).toData({ constructor: "x" }));
    const { toData } = form({ schema });
    const made = toData(JSON.parse('{"__proto__":"x"}'));
    assert.equal(JSON.stringify(made), '{"data":{"__proto__":"x"}}');
  });
});
