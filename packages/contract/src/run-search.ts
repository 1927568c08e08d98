import { decodeId } from "./ids.ts";
import { LIMITS } from "./limits.ts";
import { RUN_STATUSES, type RunStatus } from "./runs.ts";

/** Where the words of a search are looked for: in all of a run, in its error, its payload, or its metadata. */
export const RUN_SEARCH_FIELDS = ["any", "error", "payload", "metadata"] as const;
export type RunSearchField = (typeof RUN_SEARCH_FIELDS)[number];

/** Words that a run must have one after the other, or with `isNegated` must not have. */
export type RunSearchTerm = {
  field: RunSearchField;
  /** The key of the metadata whose value is meant; null: all of the field. */
  key: string | null;
  text: string;
  /** The last word is the beginning of one. */
  isPrefix: boolean;
  isNegated: boolean;
};

/** A search over runs as its text says it. All parts must hold; of several statuses, one. Times are milliseconds. */
export type RunSearch = {
  terms: RunSearchTerm[];
  statuses: RunStatus[];
  task: string | null;
  actor: string | null;
  tags: string[];
  /** The least and the greatest UUID that the id may have. */
  id: { first: string; last: string } | null;
  createdAfter: number | null;
  createdBefore: number | null;
};

/** `position` is where the mistake begins, from 1. */
export type RunSearchMistake = { position: number; message: string };

export type RunSearchResult = { search: RunSearch } | { mistake: RunSearchMistake };

/** The beginning of a term: a name before a colon. */
const NAMES =
  "status, task, actor, tag, id, error, payload, metadata, metadata.<key>, created; put text with a colon in quotes";
const WORD = /[\p{L}\p{N}_]/u;
const LETTERS = /[\p{L}\p{N}_]+$/u;
const DAY_MS = 86_400_000;

class Mistake extends Error {
  readonly position: number;
  constructor(at: number, message: string) {
    super(message);
    this.position = at + 1;
  }
}

type Token = {
  at: number;
  isNegated: boolean;
  name: string | null;
  value: string;
  valueAt: number;
  isQuoted: boolean;
};

/**
 * Reads the text of a search, such as `timeout status:failed metadata.customer:"Ada L" -retry created:>2026-01-31`.
 * Times without a zone, and days, are UTC.
 */
export function parseRunSearch(text: string): RunSearchResult {
  try {
    if (text.length > LIMITS.runSearchCharacters)
      throw new Mistake(
        LIMITS.runSearchCharacters,
        `a search has at most ${LIMITS.runSearchCharacters} characters`,
      );
    const search: RunSearch = {
      ...{ terms: [], statuses: [], task: null, actor: null, tags: [], id: null },
      ...{ createdAfter: null, createdBefore: null },
    };
    const tokens = tokensOf(text);
    const tooMany = tokens[LIMITS.runSearchTerms];
    if (tooMany !== undefined)
      throw new Mistake(tooMany.at, `a search has at most ${LIMITS.runSearchTerms} terms`);
    for (const token of tokens) addToken(search, token);
    return { search };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    return { mistake: { position: error.position, message: error.message } };
  }
}

/** Characters that part terms. */
const isSpace = (character: string | undefined): boolean => character === undefined || /\s/u.test(character);

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length;) {
    if (isSpace(text[at])) {
      at += 1;
      continue;
    }
    const { token, end } = readToken(text, at);
    tokens.push(token);
    at = end;
  }
  return tokens;
}

function readToken(text: string, at: number): { token: Token; end: number } {
  const isNegated = text[at] === "-" && !isSpace(text[at + 1]);
  const nameAt = isNegated ? at + 1 : at;
  let end = nameAt;
  while (!isSpace(text[end]) && text[end] !== ":" && text[end] !== '"') end += 1;
  const hasName = text[end] === ":" && end > nameAt;
  const name = hasName ? text.slice(nameAt, end) : null;
  const valueAt = hasName ? end + 1 : nameAt;
  const isQuoted = text[valueAt] === '"';
  if (!isQuoted) {
    end = valueAt;
    while (!isSpace(text[end])) end += 1;
    return { token: { at, isNegated, name, value: text.slice(valueAt, end), valueAt, isQuoted }, end };
  }
  const close = text.indexOf('"', valueAt + 1);
  if (close === -1) throw new Mistake(valueAt, "this quotation mark is never closed");
  if (!isSpace(text[close + 1])) throw new Mistake(close + 1, "put a space after the quotation mark");
  const value = text.slice(valueAt + 1, close);
  return { token: { at, isNegated, name, value, valueAt: valueAt + 1, isQuoted }, end: close + 1 };
}

const isName = (name: string): boolean =>
  /^(status|task|actor|tag|id|error|payload|metadata|created|metadata\..+)$/su.test(name);

function addToken(search: RunSearch, token: Token): void {
  const { name, value, valueAt, isNegated } = token;
  if (name !== null && !isName(name))
    throw new Mistake(token.at, `there is no field ${name}; fields are ${NAMES}`);
  if (value === "")
    throw new Mistake(valueAt, name === null ? "there is no text here" : `${name}: needs a value`);
  if (name === null) {
    if (!token.isQuoted && value.startsWith("run_") && !isNegated) search.id = idRangeOf(token);
    else search.terms.push(termOf(token, "any", null));
    return;
  }
  if (name === "error" || name === "payload" || name === "metadata") {
    search.terms.push(termOf(token, name, null));
    return;
  }
  if (name.startsWith("metadata.")) {
    search.terms.push(termOf(token, "metadata", name.slice("metadata.".length)));
    return;
  }
  if (isNegated)
    throw new Mistake(
      token.at,
      `${name}: cannot be excluded; - is for words, error:, payload: and metadata:`,
    );
  addFact(search, token, name);
}

function addFact(search: RunSearch, token: Token, name: string): void {
  const { value, valueAt } = token;
  switch (name) {
    case "status":
      search.statuses.push(statusOf(value, valueAt));
      return;
    case "task":
    case "actor":
      if (search[name] !== null && search[name] !== value)
        throw new Mistake(token.at, `a run has one ${name}, and the search names two`);
      search[name] = value;
      return;
    case "tag":
      search.tags.push(value);
      return;
    case "id":
      search.id = idRangeOf(token);
      return;
    case "created":
      addTimes(search, token);
  }
}

function statusOf(value: string, at: number): RunStatus {
  const status = RUN_STATUSES.find((one) => one === value);
  if (status === undefined)
    throw new Mistake(at, `there is no status ${value}; a run is ${RUN_STATUSES.join(", ")}`);
  return status;
}

function termOf(token: Token, field: RunSearchField, key: string | null): RunSearchTerm {
  const { value, valueAt, isNegated, isQuoted } = token;
  const isPrefix = !isQuoted && value.endsWith("*");
  const text = isPrefix ? value.slice(0, -1) : value;
  if (!WORD.test(text)) throw new Mistake(valueAt, "a word has letters or digits");
  if (isPrefix && (LETTERS.exec(text)?.[0] ?? "").length < LIMITS.runSearchPrefixCharacters)
    throw new Mistake(
      valueAt,
      `the beginning of a word before * has at least ${LIMITS.runSearchPrefixCharacters} characters`,
    );
  return { field, key, text, isPrefix, isNegated };
}

/** Ids are in the order of their text, as UUIDs are. */
function idRangeOf({ value, valueAt }: Token): { first: string; last: string } {
  const digits = value.replace(/^run_/, "").replace(/\*$/, "");
  const first = decodeId("run", `run_${digits.padEnd(26, "0")}`);
  const last = decodeId("run", `run_${digits.padEnd(26, "z")}`);
  if (digits === "" || first === null || last === null)
    throw new Mistake(valueAt, "this is not the id of a run, or the beginning of one, such as run_01kahvq3");
  return { first, last };
}

const DATE = /^(>=|<=|>|<)?(\d{4}-\d{2}-\d{2})(T[0-9:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/;

/** `>` and `<` of a day are after its end and before its beginning. */
function addTimes(search: RunSearch, { value, valueAt }: Token): void {
  const [, sign = "=", day = "", time] = DATE.exec(value) ?? [];
  const zone = time === undefined || /(Z|[+-]\d{2}:\d{2})$/.test(time) ? "" : "Z";
  const from = Date.parse(time === undefined ? day : `${day}${time}${zone}`);
  if (!Number.isFinite(from))
    throw new Mistake(
      valueAt,
      "write a time as created:>2026-01-31, created:<=2026-01-31T12:00 or created:2026-01-31",
    );
  const end = time === undefined ? from + DAY_MS : from + 1;
  const after = (ms: number): void => void (search.createdAfter = Math.max(search.createdAfter ?? ms, ms));
  const before = (ms: number): void => void (search.createdBefore = Math.min(search.createdBefore ?? ms, ms));
  if (sign === ">") after(end - 1);
  else if (sign === "<") before(from);
  else {
    if (sign !== "<=") after(from - 1);
    if (sign !== ">=") before(end);
  }
}
