/** A text of an address's query. The router reads `?tag=5` as a number. */
export const searchText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : undefined;

/** One of the words, or nothing: an address may say anything. */
export const searchWord = <Word extends string>(value: unknown, words: readonly Word[]): Word | undefined =>
  words.find((word) => word === value);

/** Without the fields that are not there, as an address has them. */
export const definedFields = <T extends Record<string, unknown>>(
  fields: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
