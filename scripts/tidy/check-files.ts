import {
  BANNED_LAST_WORDS,
  BANNED_NAMES,
  BUILD_OUTPUT,
  FORBIDDEN_TEXT,
  FORBIDDEN_TEXT_EXEMPT,
  FREE_HOMES,
  GENERATED_DOCUMENTS,
  HOMES,
  INDEX_FILES,
  MAX_FILE_LINES,
  MAX_FUNCTION_LINES,
  RATCHET,
  ROUTE_TEXT,
  ROUTE_TEXT_RULES,
  SQL_HOMES,
  TRANSACTION_FREE,
  WIRE_WORDS_IN_CORE,
} from "./rules.ts";
import type { Finding, Repository } from "./repository.ts";
import type { Source } from "./read-source.ts";

const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const MIGRATION = /^migrations\/\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql$/;

/** kebab-case, and no name that only says "things". */
export function checkNames(repository: Repository): Finding[] {
  const findings: Finding[] = [];
  for (const { path } of repository.files) {
    if (path.startsWith("migrations/") && path.endsWith(".sql")) {
      if (!MIGRATION.test(path)) findings.push({ path, line: 1, message: "name it NNNN_what_it_adds.sql" });
      continue;
    }
    if (!/^(packages|scripts|bench|examples)\//.test(path)) continue;
    if (/\/(package\.json|tsconfig[^/]*\.json|[A-Z]+\.md|\.[^/]+)$/.test(path)) continue;
    const names = path.split("/").map((part) => part.split(".")[0] ?? part);
    const wrong = names.find((name) => !KEBAB.test(name));
    if (wrong !== undefined) findings.push({ path, line: 1, message: `rename ${wrong} to kebab-case` });
    const banned = names.find(
      (name) => BANNED_NAMES.has(name) || BANNED_LAST_WORDS.has(name.split("-").at(-1) ?? ""),
    );
    if (banned !== undefined) {
      findings.push({
        path,
        line: 1,
        message: `rename ${banned} after what it holds: the name says nothing`,
      });
    }
    if (names.at(-1) === "index" && !INDEX_FILES.test(path)) {
      findings.push({
        path,
        line: 1,
        message: "only a package's public entry is called index: name it after its content",
      });
    }
  }
  return findings;
}

/** 400 lines a file, 70 a function, or the ratchet's number. */
export function checkSizes(
  repository: Repository,
  ratchet: Readonly<Record<string, { fileLines?: number; functionLines?: number }>> = RATCHET,
): Finding[] {
  const findings: Finding[] = [];
  for (const source of repository.sources) {
    const held = ratchet[source.path];
    findings.push(...checkFileSize(source, held?.fileLines));
    findings.push(...checkFunctionSizes(source, held?.functionLines));
  }
  const paths = new Set(repository.sources.map(({ path }) => path));
  for (const path of Object.keys(ratchet)) {
    if (!paths.has(path)) findings.push({ path, line: 1, message: "is gone: remove it from the ratchet" });
  }
  return findings;
}

function checkFileSize({ path, lineCount }: Source, held: number | undefined): Finding[] {
  const limit = held ?? MAX_FILE_LINES;
  if (lineCount > limit)
    return [{ path, line: 1, message: `has ${lineCount} lines, at most ${limit}: split it` }];
  return slack(path, held, lineCount);
}

function checkFunctionSizes({ path, functions }: Source, held: number | undefined): Finding[] {
  const limit = held ?? MAX_FUNCTION_LINES;
  const long = functions.filter(({ lineCount }) => lineCount > limit);
  if (long.length === 0)
    return slack(path, held, Math.max(0, ...functions.map(({ lineCount }) => lineCount)));
  return long.map(({ name, line, lineCount }) => {
    return { path, line, message: `${name} has ${lineCount} lines, at most ${limit}: split it` };
  });
}

function slack(path: string, held: number | undefined, now: number): Finding[] {
  if (held === undefined || now === held) return [];
  return [
    { path, line: 1, message: `is down to ${now} from ${held} lines: lower its number in the ratchet` },
  ];
}

/** Environment, time, randomness and the console only where the table says. */
export function checkHomes(repository: Repository): Finding[] {
  return repository.sources
    .filter(({ path }) => !FREE_HOMES.some((home) => home.test(path)))
    .flatMap(({ path, uses }) =>
      uses
        .filter(({ use }) => !HOMES[use].homes.some((home) => home.test(path)))
        .map(({ use, line }) => ({
          path,
          line,
          message: `uses ${use} outside its home: ${HOMES[use].instead}`,
        })),
    );
}

/** No route is called by the text of its path where something typed calls it. */
export function checkRouteTexts(repository: Repository): Finding[] {
  return repository.sources.flatMap(({ path, texts }) => {
    const rule = ROUTE_TEXT_RULES.find(({ files }) => files.test(path));
    if (rule === undefined || rule.homes.some((home) => home.test(path))) return [];
    return texts
      .filter(({ text }) => ROUTE_TEXT.test(text))
      .map(({ text, line }) => ({ path, line, message: `names the route ${text}: ${rule.instead}` }));
  });
}

/** Syntax errors first: a file that does not parse is checked for nothing else. */
export function checkSyntax(repository: Repository): Finding[] {
  return repository.sources.flatMap(({ path, error }) =>
    error === null ? [] : [{ path, line: 1, message: `does not parse: ${error}` }],
  );
}

/** Nothing of the machine it was written on, and no registry's host. */
export function checkForbiddenText(repository: Repository): Finding[] {
  return repository.files
    .filter(({ path }) => !FORBIDDEN_TEXT_EXEMPT.test(path))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) =>
        FORBIDDEN_TEXT.filter(({ pattern }) => pattern.test(line)).map(({ pattern, todo }) => {
          const found = pattern.exec(line)?.[0] ?? "";
          return { path, line: index + 1, message: `contains ${found}: ${todo}` };
        }),
      ),
    );
}

/** The lock file installs from whichever registry npm is configured for. */
export function checkLockFile(repository: Repository): Finding[] {
  const lock = repository.files.find(({ path }) => path === "package-lock.json");
  if (!lock)
    return [{ path: "package-lock.json", line: 1, message: "is missing: run npm install and commit it" }];
  return lock.text.split("\n").flatMap((line, index) => {
    if (!/"resolved":\s*"(https?|git)/.test(line)) return [];
    const message = "names a registry: run npm install with the repository's .npmrc, which leaves hosts out";
    return [{ path: lock.path, line: index + 1, message }];
  });
}

/** Build output stays out; what is generated and committed says so. */
export function checkGeneratedFiles(repository: Repository): Finding[] {
  return repository.files.flatMap(({ path, text }) => {
    if (BUILD_OUTPUT.test(path)) {
      return [
        { path, line: 1, message: "is the output of a build or a run: remove it and add it to .gitignore" },
      ];
    }
    if (GENERATED_DOCUMENTS.test(path) && !/generated/i.test(text.split("\n").slice(0, 6).join("\n"))) {
      return [
        {
          path,
          line: 1,
          message: "is generated but does not say so near its top: change scripts/generate.ts",
        },
      ];
    }
    return [];
  });
}

const isCore = ({ path }: Source): boolean =>
  path.startsWith("packages/server/src/core/") && !path.endsWith(".test.ts");

/** Statements of `core` stand in reads and writes. */
export const checkSqlHomes = (repository: Repository): Finding[] =>
  repository.sources
    .filter((source) => isCore(source) && !SQL_HOMES.test(source.path))
    .flatMap(({ path, statements }) => statements.slice(0, 1).map(({ line }) => ({ path, line })))
    .map((place) => ({
      ...place,
      message: "has SQL: move the statement to the reads or writes of its slice",
    }));

/** Routes open no transactions by hand. */
export const checkTransactions = (repository: Repository): Finding[] =>
  repository.sources
    .filter(({ path }) => TRANSACTION_FREE.test(path) && !path.endsWith(".test.ts"))
    .flatMap(({ path, transactions }) => transactions.map(({ line }) => ({ path, line })))
    .map((place) => ({
      ...place,
      message: "opens a transaction: declare it in the route's data, or let an operation of core open it",
    }));

/** Words of the wire in `core` become fewer, never more. */
export function checkWireWords(repository: Repository, held: number = WIRE_WORDS_IN_CORE): Finding[] {
  const words = repository.sources
    .filter((source) => isCore(source))
    .flatMap(({ path, wireWords }) => wireWords.map(({ name, line }) => ({ path, line, name })));
  if (words.length > held)
    return words.slice(0, words.length - held).map(({ path, line, name }) => ({
      path,
      line,
      message: `says ${name} as the wire does (${words.length} such words in core, ${held} before): map it in http`,
    }));
  return words.length === held
    ? []
    : [
        {
          path: "scripts/tidy/rules.ts",
          line: 1,
          message: `core has ${words.length} words of the wire: lower WIRE_WORDS_IN_CORE from ${held}`,
        },
      ];
}
