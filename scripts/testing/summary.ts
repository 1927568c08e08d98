// What a person reads at the end of a test run.

import { existsSync } from "node:fs";
import { availableParallelism, freemem, loadavg, platform } from "node:os";
import { delimiter, join } from "node:path";

import type { FileResult } from "./run-file.ts";
import type { TwiceResult } from "./run-twice.ts";

const ERROR_LINES = 14;
const SLOWEST = 10;
/** Of failures, of files that left something behind, and of reasons. What is more is in the report. */
const MAX_FAILURES = 12;
const MAX_LINES = 8;

export interface Outcome extends TwiceResult {
  readonly seed: number;
  readonly seconds: number;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const firstLines = (text: string, lines: number): string =>
  text
    .split("\n")
    .slice(0, Math.min(lines, ERROR_LINES))
    .map((line) => `    ${line.slice(0, 200)}`)
    .join("\n");

/** One line about a file that has ended. */
export function describeResult({ file, passed, failures, skips, seconds, cpuSeconds }: FileResult): string {
  const mark = failures.length > 0 ? "✖" : "✔";
  const counts = [
    `${passed} passed`,
    ...(failures.length > 0 ? [`${failures.length} failed`] : []),
    ...(skips.length > 0 ? [`${skips.length} skipped`] : []),
  ];
  const cpu = cpuSeconds === null ? "" : ` (${cpuSeconds.toFixed(1)} s of processor)`;
  return `${mark} ${file.path}  ${counts.join(", ")}, ${seconds.toFixed(1)} s${cpu}`;
}

function describeFailures(red: readonly FileResult[]): string[] {
  if (red.length === 0) return [];
  // The more there are, the less is said of each.
  const lines = Math.max(2, Math.floor((ERROR_LINES * 3) / sum(red.map(({ failures }) => failures.length))));
  const failures = red.flatMap(({ file, failures, log }) => [
    ...failures
      .slice(0, MAX_FAILURES)
      .flatMap(({ name, place, error }) => [`test at ${place}`, `✖ ${name}`, firstLines(error, lines), ""]),
    ...cut(failures.slice(MAX_FAILURES), "failures of this file"),
    `  all that it said: ${log}`,
    `  alone: npm test -- ${file.path}`,
    "",
  ]);
  return ["", "✖ failing tests:", "", ...failures];
}

const cut = (rest: readonly unknown[], what: string): string[] =>
  rest.length === 0 ? [] : [`  … and ${rest.length} more ${what}`];

function describeLeft(results: readonly FileResult[]): string[] {
  const left = results.flatMap(({ file, left }) => left.map((each) => `left      ${file.path} · ${each}`));
  return [...left.slice(0, MAX_LINES), ...cut(left.slice(MAX_LINES), "things left behind")];
}

/** What of the machine decides which tests run and how long they take. */
function describeMachine(): string {
  const has = (name: string): string => {
    const folders = (process.env["PATH"] ?? "").split(delimiter);
    return `${folders.some((folder) => existsSync(join(folder, name))) ? "with" : "without"} ${name}`;
  };
  return [
    `machine   ${platform()}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`,
    `${Math.round(freemem() / 2 ** 30)} GiB free, uid ${process.getuid?.()}`,
    ...["chromium", "bwrap"].map(has),
  ].join(", ");
}

function describeUnsteady(unsteady: readonly FileResult[], seed: number): string[] {
  return unsteady.flatMap(({ file, failures }) =>
    failures.map(
      ({ name, error }) =>
        `unsteady  ${file.path} · ${name} · seed ${seed} · ${error.split("\n", 1)[0]?.slice(0, 160)}`,
    ),
  );
}

function describeSkips(results: readonly FileResult[]): string[] {
  const counts = new Map<string, number>();
  for (const reason of results.flatMap(({ skips }) => skips))
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MAX_LINES)
    .map(([reason, count]) => `skipped   ${count} × ${reason.slice(0, 160)}`);
}

const describeSlowest = (results: readonly FileResult[]): string[] =>
  results
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ file, seconds }) => `slow      ${seconds.toFixed(0).padStart(4)} s  ${file.path}`);

/** The last line has the counts alone. */
export function describeOutcome({ red, unsteady, results, seed, seconds }: Outcome): string {
  const failed = sum(results.map(({ failures }) => failures.length));
  const skipped = sum(results.map(({ skips }) => skips.length));
  return [
    ...describeFailures(red),
    ...describeSlowest(results),
    ...describeSkips(results),
    ...describeLeft(results),
    ...describeUnsteady(unsteady, seed),
    describeMachine(),
    `${results.length} files in ${seconds.toFixed(0)} s, seed ${seed}`,
    `${sum(results.map(({ passed }) => passed))} passed, ${failed} failed, ${skipped} skipped`,
  ].join("\n");
}
