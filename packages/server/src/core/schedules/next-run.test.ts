import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nextRunOf, scheduleTimeProblem } from "./next-run.ts";

const after = (cron: string, timezone: string, from: string, count: number): string[] => {
  const next = nextRunOf(cron, timezone);
  const times: string[] = [];
  for (let at = next(Date.parse(`${from}Z`)); at !== null && times.length < count; at = next(at))
    times.push(new Date(at).toISOString().slice(0, 16));
  return times;
};

describe("the due times of a schedule", () => {
  for (const [what, cron, timezone, from, expected] of [
    [
      "a fixed time that clocks skip comes at the first instant after it, once",
      ...(["30 2 * * *", "Europe/Berlin", "2026-03-28T00:00"] as const),
      ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "two of them come together",
      ...(["0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00"] as const),
      ["2026-03-29T01:00", "2026-03-30T00:00"],
    ],
    [
      "a fixed time that clocks repeat comes the first time",
      ...(["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00"] as const),
      ["2026-10-25T00:30", "2026-10-26T01:30"],
    ],
    [
      "an interval comes in both passes of a repeated hour",
      ...(["*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00"] as const),
      ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30", "2026-10-26T01:00"],
    ],
    [
      "an interval does not come in a skipped hour",
      ...(["*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00"] as const),
      ["2026-03-30T00:00", "2026-03-30T00:30"],
    ],
    [
      "every hour is every hour that passes",
      ...(["0 * * * *", "Europe/Berlin", "2026-10-24T23:00"] as const),
      ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"],
    ],
    [
      "the second pass is found from the first, however far the next date is",
      ...(["*/30 2 25 10 *", "Europe/Berlin", "2026-10-25T00:30"] as const),
      ["2026-10-25T01:00", "2026-10-25T01:30", "2027-10-25T00:00"],
    ],
    [
      "a midnight that clocks skip",
      ...(["0 0 * * *", "America/Santiago", "2026-09-05T12:00"] as const),
      ["2026-09-06T04:00", "2026-09-07T03:00"],
    ],
    [
      "a change by half an hour",
      ...(["15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00"] as const),
      ["2026-10-03T15:30", "2026-10-04T15:15"],
    ],
    [
      "a quarter past of a zone that is 45 minutes off",
      ...(["45 2 * * *", "Pacific/Chatham", "2026-09-25T20:00"] as const),
      ["2026-09-26T14:00", "2026-09-27T13:00"],
    ],
    [
      "a whole day that a zone skipped",
      ...(["0 12 * * *", "Pacific/Apia", "2011-12-29T12:00"] as const),
      ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
    ],
    ["a leap day", "0 0 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]],
    ["the last day of a month", "0 0 L * *", "UTC", "2026-01-31T00:00", ["2026-02-28T00:00"]],
    [
      "names and lists",
      "0 9 1 JAN,JUL *",
      "UTC",
      "2026-02-01T00:00",
      ["2026-07-01T09:00", "2027-01-01T09:00"],
    ],
  ] as const) {
    it(what, () => assert.deepEqual(after(cron, timezone, from, expected.length), expected));
  }

  it("are to the second with six fields", () => {
    const next = nextRunOf("15 */20 * * * *", "UTC");
    assert.equal(next(Date.UTC(2026, 0, 1)), Date.UTC(2026, 0, 1, 0, 0, 15));
  });
});

describe("what cannot be used", () => {
  for (const [cron, says] of [
    ["", /no fields/],
    ["* * * * * * *", /7 fields/],
    ["-5 * * * *", /minute "-5"/],
    ["1,,2 * * * *", /a part between commas is empty/],
    ["5/5 * * * *", /a step needs a range; write 5-59\/5/],
    ["*/1/2 * * * *", /more than one step/],
    ["*/60 * * * *", /step 60 is over 59/],
    ["0 0 0 * *", /day of month "0": 0 is not in 1 to 31/],
    ["0 0 * 13 *", /month "13"/],
    ["0 0 * * 8", /day of week "8"/],
    ["0 0 W * *", /W/],
    ["0 0 30 FEB *", /never comes due/],
  ] as const) {
    it(`"${cron}" says why`, () => {
      const problem = scheduleTimeProblem(cron, "UTC");
      assert.equal(problem?.field, "cron");
      assert.match(problem?.message ?? "", says);
    });
  }

  for (const cron of [
    "* * * * *",
    " 0  0 * * * ",
    "0 0 * * 7",
    "0 0 ? * MON#2",
    "0 0 15W * *",
    "59 59 23 31 12 *",
  ])
    it(`"${cron}" can be used`, () => assert.equal(scheduleTimeProblem(cron, "UTC"), null));
});
