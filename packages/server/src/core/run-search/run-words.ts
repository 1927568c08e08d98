import { LIMITS, type RunSearchTerm } from "@keelson/contract";
import type { RunTexts } from "../runs/run-text-reads.ts";

const WORD_CHARACTERS = 64;
const PAYLOAD_WORDS = 200;
const METADATA_WORDS = 200;
const ERROR_WORDS = 100;
const OWN_WORDS = 20;
const METADATA_KEYS = 50;

const WORDS = /[\p{L}\p{M}\p{N}_]+/gu;
const ESCAPES = /\\(?:u([0-9a-f]{4})|(.))/gisu;

/** Letters, digits and `_` that are together, in lower case. */
export function cutWords(text: string, most: number): string[] {
  const words: string[] = [];
  for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(WORDS)) {
    if (words.length === most) break;
    words.push(word.slice(0, WORD_CHARACTERS).toWellFormed());
  }
  return words;
}

/** The text of JSON, whole or cut, without its escapes. */
const plainText = (json: string): string =>
  json.replaceAll(ESCAPES, (_, code: string | undefined, character: string | undefined) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return character === undefined || "bfnrt".includes(character) ? " " : character;
  });

/** The words of a run by where they are. A list is in the order of its text: a phrase is a part of one. */
export type RunWords = {
  /** Of the task or actor, and of each tag. */
  own: string[][];
  error: string[];
  payload: string[];
  metadata: string[];
  /** Of each value of the metadata, by its key. */
  values: Map<string, string[]>;
};

export const wordsOf = ({ entrypoint, tags, payload, metadata, failure }: RunTexts): RunWords => ({
  own: [entrypoint, ...(tags ?? [])].map((text) => cutWords(text, OWN_WORDS)),
  error: failure === null ? [] : cutWords(textOfFailure(failure), ERROR_WORDS),
  payload: payload === null ? [] : cutWords(plainText(payload), PAYLOAD_WORDS),
  metadata: metadata === null ? [] : cutWords(plainText(metadata), METADATA_WORDS),
  values: valuesOf(metadata),
});

/** Kind, then the error's name as its stack begins, then the message. */
function textOfFailure(failure: string): string {
  const whole = objectOf(failure);
  if (whole === null) return plainText(failure);
  const { kind, message, stack } = whole as Record<string, unknown>;
  const [name] =
    typeof stack === "string" ? (/^[\p{L}_$][\p{L}\p{N}_$.]*/u.exec(stack.slice(0, 100)) ?? []) : [];
  const named = name !== undefined && typeof stack === "string" && /^[:\n]|^$/.test(stack.slice(name.length));
  return [kind, ...(named ? [name] : []), message].filter((part) => typeof part === "string").join(" ");
}

const keyOf = (key: string): string =>
  key.normalize("NFKC").toLowerCase().replaceAll("\0", "").slice(0, WORD_CHARACTERS).toWellFormed();

function valuesOf(metadata: string | null): Map<string, string[]> {
  const object = metadata === null ? null : objectOf(metadata);
  const values = new Map<string, string[]>();
  for (const [key, value] of Object.entries(object ?? {}).slice(0, METADATA_KEYS)) {
    const text = typeof value === "string" ? value : plainText(JSON.stringify(value));
    values.set(keyOf(key), [...(values.get(keyOf(key)) ?? []), ...cutWords(text, OWN_WORDS)]);
  }
  return values;
}

/** Null when the text is no JSON, as when it was cut. */
function objectOf(json: string): object | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

function listsOf(words: RunWords, { field, key }: RunSearchTerm): readonly string[][] {
  if (key !== null) return [words.values.get(keyOf(key)) ?? []];
  if (field === "any") return [...words.own, words.error, words.payload, words.metadata];
  return [words[field]];
}

function hasPhrase(list: readonly string[], phrase: readonly string[], isPrefix: boolean): boolean {
  const last = phrase.length - 1;
  return list.some((_, at) =>
    phrase.every((word, n) =>
      n === last && isPrefix ? (list[at + n]?.startsWith(word) ?? false) : list[at + n] === word,
    ),
  );
}

const phraseOf = ({ text }: RunSearchTerm): string[] => cutWords(text, LIMITS.runSearchCharacters);

/** Whether a run has all that a search asks for: what a search finds, however it found it. */
export function matchesTerms(texts: RunTexts, terms: readonly RunSearchTerm[]): boolean {
  if (terms.length === 0) return true;
  const words = wordsOf(texts);
  return terms.every((term) => {
    const phrase = phraseOf(term);
    return listsOf(words, term).some((list) => hasPhrase(list, phrase, term.isPrefix)) !== term.isNegated;
  });
}

/** The weights that say where a lexeme is from; what has none is the run's own. */
const WEIGHTS = { error: "A", metadata: "B", payload: "C" } as const;

const quoted = (lexeme: string): string => `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

/** What a word that begins so is found by: a prefix in the index itself would read all words that have it. */
const beginningOf = (word: string): string =>
  `${word.slice(0, LIMITS.runSearchPrefixCharacters).toWellFormed()}~`;
const hasBeginning = (word: string): boolean => word.length >= LIMITS.runSearchPrefixCharacters;
const valueLexeme = (key: string, word: string): string => `${keyOf(key)}=${word}`;
/** No word has a `#`. */
export const blockLexeme = (block: number): string => `#${block}`;

/** The words of a run as the text of a `tsvector`. A position has no meaning but to hold the weight. */
export function vectorOf(texts: RunTexts, block: number): string {
  const words = wordsOf(texts);
  const weights = new Map<string, Set<string>>();
  const add = (lexeme: string, weight: string | null): void => {
    const known = weights.get(lexeme) ?? new Set();
    if (weight !== null) known.add(weight);
    weights.set(lexeme, known);
  };
  const addWords = (list: readonly string[], weight: string | null): void => {
    for (const word of list) {
      add(word, weight);
      if (hasBeginning(word)) add(beginningOf(word), weight);
    }
  };
  for (const list of words.own) addWords(list, null);
  for (const field of ["error", "metadata", "payload"] as const) addWords(words[field], WEIGHTS[field]);
  for (const [key, list] of words.values)
    for (const word of list) {
      add(valueLexeme(key, word), null);
      if (hasBeginning(word)) add(beginningOf(word), WEIGHTS.metadata);
    }
  add(blockLexeme(block), null);
  return [...weights]
    .map(([lexeme, of]) => {
      const positions = [...of].toSorted().map((weight, at) => `${at + 1}${weight}`);
      return positions.length === 0 ? quoted(lexeme) : `${quoted(lexeme)}:${positions.join(",")}`;
    })
    .join(" ");
}

/**
 * What every run that matches has in its vector, as the text of a `tsquery`; empty when no term says anything of that. It is
 * less than the search asks for: an order of words, and the end of a beginning, are not in it.
 */
export const queryOf = (terms: readonly RunSearchTerm[]): string =>
  terms
    .filter(({ isNegated }) => !isNegated)
    .flatMap((term) => {
      const { field, key, isPrefix } = term;
      const phrase = phraseOf(term);
      const weight = field === "any" || key !== null ? "" : `:${WEIGHTS[field]}`;
      return phrase.flatMap((word, at) => {
        const isBeginning = isPrefix && at === phrase.length - 1;
        // The beginning of a value is among the beginnings of all metadata.
        if (key !== null && isBeginning) return [`${quoted(beginningOf(word))}:B`];
        if (key !== null) return [quoted(valueLexeme(key, word))];
        return [`${quoted(isBeginning ? beginningOf(word) : word)}${weight}`];
      });
    })
    .join(" & ");
