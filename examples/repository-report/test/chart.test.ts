import assert from "node:assert/strict";
import { test } from "node:test";
import { toRows } from "../src/chart/draw-directories.ts";
import { toShares } from "../src/chart/draw-languages.ts";
import { drawReport } from "../src/chart/draw-report.ts";
import { fillWeeks } from "../src/chart/draw-weeks.ts";
import { cutText, shareText, ticksUpTo } from "../src/chart/numbers.ts";
import { escapeXml } from "../src/chart/xml.ts";
import { createHistoryCounter } from "../src/history.ts";
import { composeReport, type PartResult, type Report } from "../src/report.ts";

/** Throws when the tags of a document are not balanced or a character is bare. Enough for what we write ourselves. */
function assertWellFormed(xml: string): void {
  const open: string[] = [];
  let end = 0;
  for (const tag of xml.matchAll(
    /<(\/?)([a-z]+)((?: [a-zA-Z0-9:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>/g,
  )) {
    const text = xml.slice(end, tag.index);
    assert.match(text, /^([^<&]|&(amp|lt|gt|quot);)*$/, `bare markup in ${text}`);
    end = tag.index + tag[0].length;
    if (tag[1] === "/") assert.equal(open.pop(), tag[2]);
    else if (tag[4] === "") open.push(tag[2] as string);
  }
  assert.deepEqual(open, []);
  assert.equal(xml.slice(end).trim(), "");
  assert.doesNotMatch(xml, /NaN|Infinity|undefined|null/);
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(xml, /[\u0000-\u0008\u000b-\u001f]/);
}

const complete = (directory: string, lines: number, language = "TypeScript"): PartResult => ({
  ...{ directory, recursive: true, files: 1, run_id: "run_1", attempts: 1, status: "complete" },
  totals: {
    ...{ files: 1, lines, bytes: lines, binary_files: 0, longest_file: null },
    languages: [{ language, files: 1, lines, bytes: lines }],
  },
});
const failed = (directory: string, reason: string): PartResult => ({
  ...{ directory, recursive: true, files: 1, run_id: "run_2", attempts: 3, status: "failed", reason },
});

function reportOf(parts: readonly PartResult[], commits: readonly string[], name = "example"): Report {
  const counter = createHistoryCounter();
  for (const at of commits) counter.add({ at: Date.parse(at) / 1000, author: "Ada" });
  const repository = { root: "/srv/example", name, head: "5".repeat(40), branch: "main", shallow: false };
  const generatedAt = new Date("2026-11-20T00:00:00Z");
  return composeReport({ repository, history: counter.result(), parts, runId: "run_0", generatedAt });
}

const reports: Record<string, Report> = {
  "nothing at all": reportOf([], []),
  "one of each": reportOf([complete("src", 10)], ["2026-11-18T00:00:00Z"]),
  "a folder without lines": reportOf([complete("assets", 0)], ["2026-11-18T00:00:00Z"]),
  "only failures": reportOf([failed("a", "no"), failed("b", "no")], []),
  "many of all": reportOf(
    [
      ...Array.from({ length: 40 }, (_, i) => complete(`folder-${i}`, i * 1_000_000, `Language ${i}`)),
      ...Array.from({ length: 30 }, (_, i) => failed(`broken-${i}`, "it cannot be read ".repeat(40))),
    ],
    Array.from({ length: 900 }, (_, i) => new Date(Date.UTC(2005, 0, i * 8)).toISOString()),
  ),
  "names that are markup": reportOf(
    [complete(`<script>&"'`, 3), failed("\u0000]]>\u001b[31m\uD800", "<!-- & -->")],
    ["1970-01-01T00:00:00Z", "2090-01-01T00:00:00Z"],
    `<svg onload="x">\u0007`,
  ),
};

for (const [what, report] of Object.entries(reports)) {
  test(`a report is drawn as a well-formed document: ${what}`, () => {
    const svg = drawReport(report);
    assertWellFormed(svg);
    assert.doesNotMatch(svg, /<script|onload="/);
  });
}

test("what could not be read is said in the report and in the chart", () => {
  const report = reportOf([complete("src", 10), failed("docs", "docs/a.md cannot be read: EACCES")], []);
  assert.equal(report.complete, false);
  assert.deepEqual(report.totals, {
    ...{ commits: 0, authors: 0, files: 1, lines: 10, bytes: 10, tracked_files: 2 },
    ...{ directories: 2, directories_failed: 1 },
  });
  const svg = drawReport(report);
  assert.match(svg, /1 of 2 directories could not be read and is left out/);
  assert.match(svg, /docs: docs\/a\.md cannot be read: EACCES \(after 3 attempts\)/);
});

test("weeks without commits are shown, at least 12 and at most 104 in all", () => {
  assert.deepEqual(fillWeeks([]), []);
  const one = fillWeeks([{ week: "2026-11-16", commits: 3 }]);
  assert.equal(one.length, 12);
  assert.deepEqual(
    [one[0], one.at(-1)],
    [
      { week: "2026-08-31", commits: 0 },
      { week: "2026-11-16", commits: 3 },
    ],
  );
  const long = fillWeeks([
    { week: "2010-01-04", commits: 1 },
    { week: "2026-11-09", commits: 2 },
    { week: "2026-11-16", commits: 3 },
  ]);
  assert.equal(long.length, 104);
  assert.deepEqual(
    long.slice(-2).map(({ commits }) => commits),
    [2, 3],
  );
});

test("the rows begin with what failed, and the last one stands for all that have none", () => {
  const { directories } = reports["many of all"] as Report;
  const rows = toRows(directories);
  assert.equal(rows.length, 16);
  assert.equal(rows[0]?.failed, true);
  assert.match(rows.at(-1)?.detail ?? "", /^55 more: 780,000,000 lines; 15 of them could not be read$/);
});

test("the languages with most lines have a share each, the others one together", () => {
  const { languages } = reports["many of all"] as Report;
  const shares = toShares(languages);
  assert.deepEqual(shares.map(({ language }) => language).slice(-2), ["Language 33", "32 more"]);
  assert.equal(
    shares.reduce((sum, { lines }) => sum + lines, 0),
    780_000_000,
  );
});

test("ticks are round and reach past the maximum", () => {
  for (const [maximum, ticks] of [
    [0, [0, 1]],
    [1, [0, 1]],
    [3, [0, 1, 2, 3]],
    [7, [0, 2, 4, 6, 8]],
    [46, [0, 20, 40, 60]],
    [1000, [0, 500, 1000]],
  ] as const) {
    assert.deepEqual(ticksUpTo(maximum, 4), ticks, `${maximum}`);
  }
});

test("text is cut in its middle, and a small share is not nothing", () => {
  assert.equal(cutText("packages/server/src", 30), "packages/server/src");
  assert.equal(cutText("packages/server/src", 9), "pack…/src");
  assert.equal(cutText("👩‍👩‍👧 family", 3), "👩‍👩‍👧…y");
  assert.deepEqual([shareText(1, 3), shareText(1, 100_000), shareText(0, 0)], ["33.3%", "<0.1%", "0%"]);
  assert.equal(escapeXml(`<a href="&">\u0000`), "&lt;a href=&quot;&amp;&quot;&gt;\uFFFD");
});
