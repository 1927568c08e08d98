import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseTimestamp } from "./row-types.ts";

describe("times of the database", () => {
  for (const [text, iso] of [
    ["2026-11-21 09:30:07.123456+00", "2026-11-21T09:30:07.123Z"],
    ["2026-11-21 09:30:07.1+00", "2026-11-21T09:30:07.100Z"],
    ["2026-11-21 09:30:07.05+00", "2026-11-21T09:30:07.050Z"],
    ["2026-02-28 23:59:59+00", "2026-02-28T23:59:59.000Z"],
    ["0101-01-01 00:00:00+00", "0101-01-01T00:00:00.000Z"],
    ["2026-11-21 09:30:07.123456+05:30", "2026-11-21T04:00:07.123Z"],
    ["2026-11-21 09:30:07.9-03", "2026-11-21T12:30:07.900Z"],
    ["1900-01-01 00:00:00+00:19:32", "1899-12-31T23:40:28.000Z"],
    ["12026-11-21 09:30:07.123+00", "+012026-11-21T09:30:07.123Z"],
  ] as const)
    it(`reads ${text}`, () => assert.equal(parseTimestamp(text), Date.parse(iso)));

  it("reads what is before and after all times", () => {
    assert.deepEqual(["-infinity", "infinity"].map(parseTimestamp), [-Infinity, Infinity]);
  });

  it("refuses another style, and years before the first", () => {
    for (const text of ["21.11.2026 09:30:07 UTC", "0044-03-15 12:00:00+00 BC"])
      assert.throws(() => parseTimestamp(text), /not in the ISO style/);
  });
});
