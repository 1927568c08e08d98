// Which test files a change can break: by what they import, and by the resource that they are named after.

import { execFileSync } from "node:child_process";
import path from "node:path";
import { readRepository, type Repository } from "../tidy/repository.ts";

/** A file that imports so many puts the whole product together: its tests are the whole suite. */
const HUB_IMPORTS = 25;
/** These look at every file. They take seconds. */
const ALWAYS = ["scripts/tidy.test.ts"];
/** What is read as data, and which tests read it. */
const READERS: readonly (readonly [RegExp, RegExp])[] = [
  [/\.md$/, /^scripts\/docs(-checks)?\.test\.ts$/],
  [/^migrations\//, /^(scripts\/sql|packages\/server\/test\/db\/migrate)\.test\.ts$/],
  [/^(openapi|docs\/reference)\//, /^scripts\/generate\.test\.ts$/],
  [/^packages\/contract\/src\//, /^scripts\/generate\.test\.ts$/],
  [/^packages\/server\/src\/.*-(reads|writes)\.ts$/, /^scripts\/sql\.test\.ts$/],
];

/** Paths that differ from the branch, and those that are not committed. */
export function listChanged(root: string, branch: string): string[] {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "safe.directory=*", ...args], { cwd: root, encoding: "utf8" });
  const base = git("merge-base", branch, "HEAD").trim();
  const listed = [
    git("diff", "--name-only", "-z", base),
    git("ls-files", "--others", "--exclude-standard", "-z"),
  ];
  return [...new Set(listed.flatMap((names) => names.split("\0")))].filter((name) => name !== "");
}

/**
 * @param tests all test files
 * @returns those that a change of the files can break, as far as imports and names tell
 */
export function connectFiles(
  changed: readonly string[],
  tests: readonly string[],
  { sources, resolve }: Pick<Repository, "sources" | "resolve">,
): string[] {
  const targets = new Map(
    sources.map((source) => [
      source.path,
      [...source.imports.map(({ specifier }) => specifier), ...source.mentions].flatMap(
        (specifier) => resolve(source.path, specifier) ?? [],
      ),
    ]),
  );
  const importers = new Map<string, string[]>();
  for (const [from, to] of targets)
    for (const target of to) importers.set(target, [...(importers.get(target) ?? []), from]);
  const reached = new Set(changed);
  for (const file of reached) {
    const isHub = (targets.get(file)?.length ?? 0) >= HUB_IMPORTS && !changed.includes(file);
    if (!isHub) for (const importer of importers.get(file) ?? []) reached.add(importer);
  }
  const resources = new Set(changed.flatMap(resourceOf));
  const isNamed = (test: string): boolean => {
    const name = path.posix.basename(test, ".test.ts");
    return [...resources].some((resource) => name === resource || name.startsWith(`${resource}-`));
  };
  const readers = READERS.filter(([data]) => changed.some((file) => data.test(file)));
  return tests.filter(
    (test) =>
      reached.has(test) ||
      isNamed(test) ||
      ALWAYS.includes(test) ||
      readers.some(([, reader]) => reader.test(test)),
  );
}

/** `runs` of `packages/server/src/core/runs/run.ts` and of `packages/server/src/http/resources/runs/routes.ts`. */
const resourceOf = (file: string): string[] =>
  /^packages\/server\/src\/(?:core|http\/resources)\/([a-z-]+)\//.exec(file)?.slice(1) ?? [];

/** The test files that what differs from the branch can break. */
export const findConnected = (root: string, branch: string, tests: readonly string[]): string[] =>
  connectFiles(listChanged(root, branch), tests, readRepository(root));
