// What a person reads at the end of a test run.

import type { FileResult } from "./run-file.ts";

const ERROR_LINES = 14;
const SLOWEST = 10;

export interface Outcome {
  /** Of files that failed for good. */
  readonly red: readonly FileResult[];
  /** The first results of files that passed when they ran again. */
  readonly unsteady: readonly FileResult[];
  /** The result of each file that counts: the second one, when there are two. */
  readonly results: readonly FileResult[];
  readonly seed: number;
  readonly seconds: number;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const firstLines = (text: string): string =>
  text
    .split("\n")
    .slice(0, ERROR_LINES)
    .map((line) => `    ${line.slice(0, 200)}`)
    .join("\n");

/** One line about a file that has ended. */
export function describeResult({ file, passed, failures, skips, seconds }: FileResult): string {
  const mark = failures.length > 0 ? "✖" : "✔";
  const counts = [
    `${passed} passed`,
    ...(failures.length > 0 ? [`${failures.length} failed`] : []),
    ...(skips.length > 0 ? [`${skips.length} skipped`] : []),
  ];
  return `${mark} ${file.path}  ${counts.join(", ")}, ${seconds.toFixed(1)} s`;
}

function describeFailures(red: readonly FileResult[]): string[] {
  if (red.length === 0) return [];
  const failures = red.flatMap(({ file, failures, log }) => [
    ...failures.flatMap(({ name, place, error }) => [`test at ${place}`, `✖ ${name}`, firstLines(error), ""]),
    `  all that it said: ${log}`,
    `  alone: npm test -- ${file.path}`,
    "",
  ]);
  return ["", "✖ failing tests:", "", ...failures];
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
    .map(([reason, count]) => `skipped   ${count} × ${reason}`);
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
    ...describeUnsteady(unsteady, seed),
    `${results.length} files in ${seconds.toFixed(0)} s, seed ${seed}`,
    `${sum(results.map(({ passed }) => passed))} passed, ${failed} failed, ${skipped} skipped`,
  ].join("\n");
}
