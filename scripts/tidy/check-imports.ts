import { ENTRIES, IMPORT_RULES, MODEL, SLICES, TEST_FILE, type ImportRule } from "./rules.ts";
import type { Finding, Repository } from "./repository.ts";
import type { Import } from "./read-source.ts";

/** Holds every import against the table of layers. */
export function checkImportTable(repository: Repository): Finding[] {
  const findings: Finding[] = [];
  for (const { path, imports } of repository.sources) {
    const rule = IMPORT_RULES.find(({ files }) => files.test(path));
    if (!rule) {
      const message = "belongs to no layer: move it, or give its folder a row in scripts/tidy/rules.ts";
      findings.push({ path, line: 1, message });
      continue;
    }
    for (const imported of imports) {
      const target = repository.resolve(path, imported.specifier);
      const message =
        target === null ? refuseExternal(rule, imported) : refuseInternal(rule, path, imported, target);
      if (message !== null) findings.push({ path, line: imported.line, message });
    }
  }
  return findings;
}

function refuseExternal(rule: ImportRule, { specifier }: Import): string | null {
  if (specifier.startsWith(".")) return `imports ${specifier}, which is not a file: correct the path`;
  if (!rule.external || rule.external.some((pattern) => pattern.test(specifier))) return null;
  return `${rule.layer} must not import ${specifier}: move what needs it to a layer that may`;
}

function refuseInternal(rule: ImportRule, path: string, imported: Import, target: string): string | null {
  const isRelative = imported.specifier.startsWith(".");
  if (rule.reachesAnywhere) return null;
  if (isRelative && packageOf(path) !== packageOf(target)) {
    return `reaches into ${packageOf(target)} by path: import the package by its name`;
  }
  if (TEST_FILE.test(target)) {
    return `imports the test file ${target}: move what is shared out of the tests`;
  }
  const isRefused = rule.never?.some((pattern) => pattern.test(target)) ?? false;
  if (imported.isType && rule.mayTypes?.some((pattern) => pattern.test(target))) return null;
  if (!isRefused && (isOwn(rule, path, target) || rule.may.some((pattern) => pattern.test(target))))
    return null;
  return `${rule.layer} must not import ${target}: see the import table in scripts/tidy/rules.ts`;
}

function isOwn({ own }: ImportRule, path: string, target: string): boolean {
  switch (own) {
    case "none":
      return false;
    case "folder":
      return target.startsWith(path.slice(0, path.lastIndexOf("/") + 1));
    case "package":
      return packageOf(path) === packageOf(target);
  }
}

function packageOf(path: string): string {
  return /^(?:(?:packages|examples)\/)?[^/]+/.exec(path)?.[0] ?? path;
}

/** Another slice's writes belong to that slice: its operations are the way in. */
export function checkForeignWrites(repository: Repository): Finding[] {
  const findings: Finding[] = [];
  for (const { path, imports } of repository.sources) {
    const slice = sliceOf(path);
    if (slice === null || TEST_FILE.test(path)) continue;
    for (const { specifier, line } of imports) {
      const target = repository.resolve(path, specifier);
      if (target === null || !target.endsWith("-writes.ts") || sliceOf(target) === slice) continue;
      findings.push({
        path,
        line,
        message: `writes rows of another resource (${target}): call one of its operations`,
      });
    }
  }
  return findings;
}

/** Holds imports between slices of `core` against their reading order. */
export function checkSliceOrder(
  repository: Repository,
  order: readonly (readonly string[])[] = SLICES,
): Finding[] {
  const rowOf = new Map(order.flatMap((slices, row) => slices.map((slice) => [slice, row] as const)));
  const findings: Finding[] = [];
  for (const { path, imports } of repository.sources) {
    const slice = sliceOf(path);
    if (slice === null || TEST_FILE.test(path)) continue;
    const row = rowOf.get(slice);
    if (row === undefined) {
      const message = `is in the slice ${slice}, which has no row in SLICES of scripts/tidy/rules.ts: give it one`;
      findings.push({ path, line: 1, message });
      continue;
    }
    for (const { specifier, line, isType } of imports) {
      const target = repository.resolve(path, specifier);
      const other = target === null ? null : sliceOf(target);
      if (target === null || other === null || other === slice || isType || MODEL.test(target)) continue;
      if ((rowOf.get(other) ?? Infinity) > row) continue;
      const message = `imports ${other}, which is not under ${slice} in the reading order: move the file up, or what both need down`;
      findings.push({ path, line, message });
    }
  }
  return findings;
}

function sliceOf(path: string): string | null {
  return /^packages\/server\/src\/core\/([^/]+)\//.exec(path)?.[1] ?? null;
}

/** Files that import each other in a ring. Type imports and `import()` close none: they do not run at load. */
export function checkCycles(repository: Repository): Finding[] {
  const edges = new Map<string, { target: string; line: number }[]>();
  for (const { path, imports } of repository.sources) {
    const targets = imports
      .filter(({ isType, isDynamic }) => !isType && !isDynamic)
      .flatMap(({ specifier, line }) => {
        const target = repository.resolve(path, specifier);
        return target === null ? [] : [{ target, line }];
      });
    edges.set(path, targets);
  }
  const findings: Finding[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    for (const { target, line } of edges.get(path) ?? []) {
      const from = trail.indexOf(target);
      if (from !== -1) {
        const ring = [...trail.slice(from), target].join(" → ");
        findings.push({
          path,
          line,
          message: `closes the import cycle ${ring}: move what both need to a third file`,
        });
      } else if (!done.has(target)) {
        visit(target, [...trail, target]);
      }
    }
    done.add(path);
  };
  for (const path of edges.keys()) if (!done.has(path)) visit(path, [path]);
  return findings;
}

/** Source files that nothing imports or mentions and that are no entry. */
export function checkDeadFiles(repository: Repository): Finding[] {
  const reached = new Set<string>();
  for (const { path, imports, mentions } of repository.sources) {
    for (const specifier of [...imports.map((imported) => imported.specifier), ...mentions]) {
      const target = repository.resolve(path, specifier) ?? specifier;
      if (target !== path) reached.add(target);
    }
  }
  return repository.sources
    .filter(({ path }) => !reached.has(path) && !ENTRIES.some((entry) => entry.test(path)))
    .map(({ path }) => ({ path, line: 1, message: "nothing imports this file: delete it, or use it" }));
}
