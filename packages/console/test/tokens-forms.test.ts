// What completes a token, as its maker asks for it: no browser is needed for this.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  completionForm,
  describeCompleter,
  outcomeVerb,
  purposeOf,
} from "../src/features/tokens/completion-form.ts";
import { formOfData, toInputData } from "../src/features/sessions/input-message.ts";
import { visibleLines } from "../src/ui/visible-text.ts";

const schema = (properties: unknown, required?: string[]): Record<string, unknown> => ({
  schema: { type: "object", properties, ...(required !== undefined && { required }) },
});

describe("how a token is completed", () => {
  const cases: [what: string, metadata: Record<string, unknown>, tags: string[], kind: string][] = [
    ["the tag approval", { action: "delete it" }, ["ops", "Approval"], "decision approved"],
    ["metadata that says approval", { type: "approval" }, [], "decision approved"],
    ["one boolean", schema({ ok: { type: "boolean" } }), [], "decision ok"],
    [
      "one boolean by a reference",
      { schema: { $defs: { yes: { type: "boolean" } }, properties: { ok: { $ref: "#/$defs/yes" } } } },
      [],
      "decision ok",
    ],
    ["a boolean that may be null", schema({ ok: { type: ["boolean", "null"] } }), [], "fields"],
    ["a schema of no object", { schema: { enum: ["red", "green"] } }, [], "fields"],
    ["a schema of nothing but itself", { schema: { oneOf: [{ $ref: "#" }] } }, [], "json"],
    ["a schema before the tag", schema({ note: { type: "string" } }), ["approval"], "fields"],
    [
      "plain fields",
      schema({ plan: { enum: ["a", "b"] }, seats: { type: "integer" }, price: { type: "number" } }),
      [],
      "fields",
    ],
    ["a schema with a list", schema({ list: { type: "array" } }), [], "fields"],
    ["a schema with numbers to choose from", schema({ n: { enum: [1, 2] } }), [], "fields"],
    ["a schema without properties", { schema: { type: "object", properties: {} } }, [], "json"],
    ["a schema that is none", { schema: "yes" }, [], "json"],
    ["a field that all objects have", schema({ constructor: { type: "string" } }), [], "fields"],
    ["nothing", {}, [], "json"],
    ["other tags", {}, ["approvals"], "json"],
  ];
  for (const [what, metadata, tags, expected] of cases)
    test(what, () => {
      const form = completionForm({ metadata, tags });
      assert.equal(form.kind === "decision" ? `decision ${form.property}` : form.kind, expected);
    });
});

test("what a token is for is what its metadata says first", () => {
  assert.deepEqual(purposeOf({ metadata: { action: "delete", question: "Delete it?" } }), {
    purpose: "Delete it?",
    rest: { action: "delete" },
  });
  assert.deepEqual(purposeOf({ metadata: { title: 5, action: "" } }), {
    purpose: null,
    rest: { title: 5, action: "" },
  });
});

test("who completed a token is said in words", () => {
  const words = (by: Parameters<typeof describeCompleter>[0]): string => describeCompleter(by, "user_me");
  assert.equal(words({ kind: "user", id: "user_me" }), "you");
  assert.equal(words({ kind: "user", id: "user_other" }), "user user_other");
  assert.equal(words({ kind: "api_key", id: "key_1" }), "API key key_1");
  assert.match(words({ kind: "public", id: null }), /public access token/);
  assert.match(words({ kind: "callback", id: null }), /callback/);
  assert.equal(words(null), "somebody");
});

test("what a completion did is said in a word, by the form that asked for it", () => {
  const approval = { metadata: {}, tags: ["approval"] };
  assert.equal(outcomeVerb({ ...approval, data: { approved: true } }), "Approved");
  assert.equal(outcomeVerb({ ...approval, data: { approved: false } }), "Refused");
  assert.equal(outcomeVerb({ ...approval, data: { later: true } }), "Completed");
  assert.equal(outcomeVerb({ ...approval, data: null }), "Completed");
  assert.equal(outcomeVerb({ metadata: {}, tags: [], data: { approved: true } }), "Completed");
  const send = { metadata: schema({ send: { type: "boolean" } }), tags: [] };
  assert.equal(outcomeVerb({ ...send, data: { send: true } }), "Approved");
});

describe("what is typed as input", () => {
  test("is a text, a text in an object, or JSON", () => {
    assert.deepEqual(toInputData("text", "5"), { data: "5" });
    assert.deepEqual(toInputData("object", "5"), { data: { text: "5" } });
    assert.deepEqual(toInputData("json", "5"), { data: 5 });
    assert.match((toInputData("json", "{") as { problem: string }).problem, /^This is not JSON: /);
  });
  test("is in the form of what was sent before", () => {
    assert.deepEqual(
      ["x", { text: "x" }, { text: 1 }, { text: "x", more: 1 }, ["x"], null, 5].map(formOfData),
      ["text", "object", "json", "json", "json", "json", "json"],
    );
  });
});

describe("text that is shown", () => {
  const cases: [what: string, text: string, shown: string][] = [
    ["is what it is", "Grüße, 你好 👋\n\ttab", "Grüße, 你好 👋\n\ttab"],
    ["does not turn what follows", "safe \u202egnp.exe\u2066", "safe \\u{202e}gnp.exe\\u{2066}"],
    [
      "shows control characters",
      "\u001b[31mred\u0007\u0000\u007f\u0085",
      "\\u{1b}[31mred\\u{7}\\u{0}\\u{7f}\\u{85}",
    ],
    ["has whole characters alone", "a\ud800b", "a\ufffdb"],
    ["has the ends of lines of other systems", "a\r\nb\rc", "a\nb\\rc"],
    ["keeps the marks of right-to-left writing", "שלום\u200f!", "שלום\u200f!"],
  ];
  for (const [what, text, shown] of cases)
    test(what, () => {
      assert.equal(visibleLines(text), shown);
    });
});
