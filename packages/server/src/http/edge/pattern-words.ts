import { PATTERN_WORDS } from "@keelson/contract";

const ID_PATTERN = /^\^\(?([a-z|]+)\)?_\[0-7\]/;

/** What a text must be that is to match a pattern of the contract; null when only the pattern says it. */
export function wordsOfPattern(pattern: string): string | null {
  const [, prefixes] = ID_PATTERN.exec(pattern) ?? [];
  if (prefixes === undefined) return PATTERN_WORDS[pattern] ?? null;
  return `must be an id that begins with ${prefixes.replaceAll("|", "_ or ")}_`;
}

/** The same of the names in an object whose caller chooses them; null for any other object. */
export function wordsOfNames(schema: object | undefined): string | null {
  const { patternProperties = {} } = (schema ?? {}) as { patternProperties?: object };
  const [pattern] = Object.keys(patternProperties);
  return pattern === undefined ? null : wordsOfPattern(pattern);
}
