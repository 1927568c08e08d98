import assert from "node:assert/strict";
import { it } from "node:test";
import { arrayLiteral, type ArrayElement } from "./array-literal.ts";

const cases: [string, ArrayElement[], string][] = [
  ["an empty array", [], "{}"],
  [
    "ids and numbers bare",
    ["01a1fbd8-a4f1-71f4-aa11-e43516b2e739", 1, -2.5, true],
    "{01a1fbd8-a4f1-71f4-aa11-e43516b2e739,1,-2.5,true}",
  ],
  ["nulls and what is absent", [null, undefined], "{NULL,NULL}"],
  ["the word null as text", ["null", "NULL"], '{"null","NULL"}'],
  ["empty text", [""], '{""}'],
  ["text with what has a meaning in arrays", ['a,b{}"\\', " x "], '{"a,b{}\\"\\\\"," x "}'],
  ["bytes", [Buffer.from([0, 255])], '{"\\\\x00ff"}'],
];
for (const [what, values, literal] of cases)
  it(`writes ${what}`, () => assert.equal(arrayLiteral(values), literal));
