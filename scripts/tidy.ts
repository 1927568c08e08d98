/**
 * Checks what a linter does not: which layer imports which, cycles, dead files, names, sizes, and that
 * environment, time, randomness and the console are used only in their homes. `npm test` runs it through
 * `tidy.test.ts`; run it alone with `node scripts/run.mjs scripts/tidy.ts`. The tables are in `tidy/rules.ts`.
 */
import { join } from "node:path";
import {
  checkForbiddenText,
  checkGeneratedFiles,
  checkHomes,
  checkLockFile,
  checkNames,
  checkRouteTexts,
  checkSizes,
  checkSqlHomes,
  checkSyntax,
  checkTransactions,
  checkWireWords,
} from "./tidy/check-files.ts";
import {
  checkCycles,
  checkDeadFiles,
  checkForeignWrites,
  checkImportTable,
  checkSliceOrder,
} from "./tidy/check-imports.ts";
import { checkTimeInTests } from "./tidy/check-tests.ts";
import { checkWords } from "./tidy/plain-english.ts";
import { readRepository, type Finding, type Repository } from "./tidy/repository.ts";

/**
 * Every finding of every check, ordered by place. Empty means tidy.
 *
 * @param held what is allowed for a while, where it is not this repository's
 */
export function findUntidiness(
  repository: Repository,
  { wireWords }: { wireWords?: number } = {},
): Finding[] {
  return [
    ...checkSyntax(repository),
    ...checkImportTable(repository),
    ...checkForeignWrites(repository),
    ...checkSliceOrder(repository),
    ...checkCycles(repository),
    ...checkDeadFiles(repository),
    ...checkNames(repository),
    ...checkSizes(repository),
    ...checkHomes(repository),
    ...checkRouteTexts(repository),
    ...checkSqlHomes(repository),
    ...checkTransactions(repository),
    ...checkWireWords(repository, wireWords),
    ...checkTimeInTests(repository),
    ...checkForbiddenText(repository),
    ...checkLockFile(repository),
    ...checkGeneratedFiles(repository),
    ...checkWords(repository),
  ].sort((a, b) => a.path.localeCompare(b.path, "en") || a.line - b.line);
}

/** `file:line what to do`, the form editors turn into a link. */
export function formatFinding({ path, line, message }: Finding): string {
  return `${path}:${line} ${message}`;
}

if (import.meta.main) {
  const findings = findUntidiness(readRepository(join(import.meta.dirname, "..")));
  for (const finding of findings) console.log(formatFinding(finding));
  process.exitCode = findings.length === 0 ? 0 : 1;
}
