import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DomainError } from "../../domain-error.ts";
import { checkIJson } from "./check-i-json.ts";
import { survivesDouble } from "./survives-double.ts";

/** Where the refusal points, or null when the text is taken. */
function refusedAt(text: string): string | null {
  try {
    checkIJson(text, JSON.parse(text));
    return null;
  } catch (error) {
    assert.ok(error instanceof DomainError && error.code === "invalid_request");
    return (error.details as { issues: { path: string }[] }).issues[0]?.path ?? "";
  }
}

describe("I-JSON", () => {
  for (const text of [
    "null",
    "12",
    '"a"',
    "[]",
    "{}",
    '{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":1}}',
    String.raw`{"a\"":1,"a":"\",\"a\":","b":"\\"}`,
    String.raw`{"text":"\ud83d\ude00 \u20ac / \/ \b"}`,
    '{ "a" : "b" , "b" : [ "a" , "a" , { "a" : "a" } ] }',
    '{"__proto__":1,"constructor":2}',
  ]) {
    test(`takes ${text}`, () => assert.equal(refusedAt(text), null));
  }

  for (const [text, path] of [
    ['{"data":1,"data":1}', "data"],
    ['{"data":{"a":[0,{"b":1,"b":2}]}}', "data.a.1.b"],
    [String.raw`{"a":1,"\u0061":2}`, "a"],
    ['{"__proto__":1,"__proto__":1}', "__proto__"],
    [String.raw`{"data":["x","\ud800"]}`, "data.1"],
    [String.raw`{"data":"\udc00\ud800"}`, "data"],
    [String.raw`"\u0000"`, "body"],
    [String.raw`{"data":{"\u0000":1}}`, "data.\0"],
    ['{"data":[[1,2],[3,9007199254740993]]}', "data.1.1"],
    ["1e400", "body"],
  ] as const) {
    test(`refuses ${text}`, () => assert.equal(refusedAt(text), path));
  }
});

describe("a number", () => {
  // The first are the samples of RFC 8785.
  for (const text of [
    "333333333.33333329",
    "1E30",
    "4.50",
    "2e-3",
    "0.000000000000000000000000001",
    "0",
    "-0",
    "-0.0e5",
    "0e999999",
    "9007199254740991",
    "9007199254740992",
    "-9007199254740994",
    "295147905179352830000",
    "1424953923781206.2",
    "0.30000000000000004",
    "0.10000000000000001",
    "18446744073709551616",
    "100000000000000000000000",
    "1.7976931348623157e308",
    "5e-324",
    "1000000000000000000000000000000.0",
  ]) {
    test(`${text} survives a double`, () => assert.equal(survivesDouble(text), true));
  }

  // 1E400 and the digits of pi are the examples of RFC 7493.
  for (const text of [
    "1E400",
    "-1e309",
    "3.141592653589793238462643383279",
    "9007199254740993",
    "12345678901234567890",
    "-12345678901234567891e3",
    "9007199254740992.5",
    "0.99999999999999999",
    "1e-400",
    "1.23456789e-320",
    "0.1000000000000000000001",
  ]) {
    test(`${text} does not survive a double`, () => assert.equal(survivesDouble(text), false));
  }
});
