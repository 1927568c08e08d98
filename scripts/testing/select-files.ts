// Which test files there are, and what is known of each before it runs.

import { globSync, readFileSync } from "node:fs";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname, "../..");

const PATTERNS = [
  "packages/*/test/**/*.test.ts",
  "packages/*/src/**/*.test.ts",
  "examples/*/test/**/*.test.ts",
  "examples/*/src/**/*.test.ts",
  "bench/test/**/*.test.ts",
  "scripts/**/*.test.ts",
];

/** Checks that read the tree, or compare answers with documents: what they find has nothing to do with the machine. */
const CERTAIN = [
  /^packages\/contract\//,
  /^packages\/server\/test\/contract\//,
  /^scripts\/(?!image|pack|docs-run|testing)/,
];

/** What a file of which nothing is known is taken to last. */
const UNKNOWN_SECONDS = 5;
const DURATIONS = path.join(ROOT, "scripts/testing/durations.json");

/** Seconds that each file took when it was last recorded, by path. */
export type Durations = Readonly<Record<string, number>>;

export interface TestFile {
  /** From the repository's root, with `/`. */
  readonly path: string;
  readonly seconds: number;
  /** It fails for a reason in the code: a second run would say the same. */
  readonly isCertain: boolean;
}

/**
 * @param parts of paths: the files that have one of them; all files when there are none
 * @returns the files that take longest first, so that none of them is still running when all others have ended
 */
export function selectFiles(parts: readonly string[]): TestFile[] {
  const durations = JSON.parse(readFileSync(DURATIONS, "utf8")) as Durations;
  return globSync(PATTERNS, { cwd: ROOT, exclude: (name) => path.basename(name) === "node_modules" })
    .filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
    .toSorted()
    .map((file) => describeFile(file, durations))
    .toSorted((a, b) => b.seconds - a.seconds);
}

/** Whether a test file asks for its long form. */
export const hasLongForm = ({ path: file }: TestFile): boolean =>
  /\b(isLong|crashSeconds|fewOf)\(/.test(readFileSync(path.join(ROOT, file), "utf8"));

/**
 * Deals the files out so that all parts take about as long.
 *
 * @param files the longest first
 * @param part counted from 1
 */
export function takeShard(
  files: readonly TestFile[],
  part: { readonly number: number; readonly of: number },
): TestFile[] {
  const shards = Array.from({ length: part.of }, () => ({ seconds: 0, files: [] as TestFile[] }));
  for (const file of files) {
    const shortest = shards.reduce((a, b) => (b.seconds < a.seconds ? b : a));
    shortest.seconds += file.seconds;
    shortest.files.push(file);
  }
  return shards[part.number - 1]?.files ?? [];
}

const describeFile = (file: string, durations: Durations): TestFile => ({
  path: file,
  seconds: durations[file] ?? UNKNOWN_SECONDS,
  isCertain: CERTAIN.some((pattern) => pattern.test(file)),
});
