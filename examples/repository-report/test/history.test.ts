import assert from "node:assert/strict";
import { test } from "node:test";
import { createHistoryCounter, parseCommit, weekOf } from "../src/history.ts";

const seconds = (iso: string): number => Date.parse(iso) / 1000;

test("a week begins on Monday, in UTC", () => {
  for (const [at, week] of [
    ["2026-11-16T00:00:00Z", "2026-11-16"],
    ["2026-11-22T23:59:59Z", "2026-11-16"],
    ["2026-11-23T00:00:00Z", "2026-11-23"],
    ["1970-01-01T00:00:00Z", "1969-12-29"],
    ["1969-12-28T23:59:59Z", "1969-12-22"],
    ["2025-01-01T12:00:00Z", "2024-12-30"],
  ] as const) {
    assert.equal(weekOf(seconds(at)), week, at);
  }
});

test("a record of the log is a time and an author; what is not one is nothing", () => {
  for (const [record, commit] of [
    ["1795226943 Ada Lovelace", { at: 1795226943, author: "Ada Lovelace" }],
    ["-1 A", { at: -1, author: "A" }],
    ["5 ", { at: 5, author: "(no name)" }],
    ["5  two spaces ", { at: 5, author: " two spaces " }],
    ["", null],
    ["yesterday Ada", null],
    ["99999999999999999999 Ada", null],
  ] as const) {
    assert.deepEqual(parseCommit(record), commit, record);
  }
});

test("commits add up to weeks and authors, however they are ordered", () => {
  const counter = createHistoryCounter();
  for (const [at, author] of [
    ["2026-11-18T10:00:00Z", "Ada"],
    ["2026-11-02T10:00:00Z", "Bob"],
    ["2026-11-17T10:00:00Z", "Bob"],
    ["2026-11-16T10:00:00Z", "Cleo"],
  ] as const) {
    counter.add({ at: seconds(at), author });
  }
  assert.deepEqual(counter.result(), {
    commits: 4,
    first_commit_at: "2026-11-02T10:00:00.000Z",
    last_commit_at: "2026-11-18T10:00:00.000Z",
    weeks: [
      { week: "2026-11-02", commits: 1 },
      { week: "2026-11-16", commits: 3 },
    ],
    authors: 3,
    top_authors: [
      { name: "Bob", commits: 2 },
      { name: "Ada", commits: 1 },
      { name: "Cleo", commits: 1 },
    ],
  });
});

test("no commits are a history too", () => {
  assert.deepEqual(createHistoryCounter().result(), {
    commits: 0,
    first_commit_at: null,
    last_commit_at: null,
    weeks: [],
    authors: 0,
    top_authors: [],
  });
});
