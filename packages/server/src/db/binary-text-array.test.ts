import assert from "node:assert/strict";
import { it } from "node:test";
import { binaryTextArray } from "./binary-text-array.ts";

const cases: [string, (string | null)[], string][] = [
  ["an empty array", [], "00000000 00000000 00000019"],
  [
    "text as its bytes, whatever it holds",
    ['"a\\,{}', "", "ä€𝄞"],
    "00000001 00000000 00000019 00000003 00000001 00000006 22615c2c7b7d 00000000 00000009 c3a4e282acf09d849e",
  ],
  ["nulls", [null, "NULL"], "00000001 00000001 00000019 00000002 00000001 ffffffff 00000004 4e554c4c"],
];
for (const [what, values, hex] of cases)
  it(`writes ${what}`, () => assert.equal(binaryTextArray(values).toString("hex"), hex.replaceAll(" ", "")));
