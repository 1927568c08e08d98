import { isCellTag, parseDuration, type Duration } from "@keelson/contract/plain";
import { InvalidArgumentError } from "commander";

/** Parsers of option values; what they throw is written as a usage error that names the option. */

export function parseMillisecondsOption(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError("It must be a duration like 30s, 500ms or 2h.");
  return ms;
}

/** As it was written, once it is known to be a duration. */
export function parseDurationOption(text: string): Duration {
  parseMillisecondsOption(text);
  return text as Duration;
}

export const parseIntegerOption =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^-?[0-9]+$/.test(text) || value < minimum || value > maximum)
      throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
    return value;
  };

/** The tag of a cell. */
export function parseCellOption(text: string): string {
  if (!isCellTag(text))
    throw new InvalidArgumentError(
      "It must be 2 to 8 lower-case letters and digits that begin with a letter, such as eu1.",
    );
  return text;
}

export function parseJsonOption(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`It is not JSON: ${(error as Error).message}`);
  }
}

export function parseObjectOption(text: string): Record<string, unknown> {
  const value = parseJsonOption(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidArgumentError("It must be a JSON object.");
  return value as Record<string, unknown>;
}

/** A repeatable option that takes one of the words. */
export const collectWord =
  <Word extends string>(words: readonly Word[]) =>
  (text: string, before: Word[] | undefined): Word[] => {
    const word = words.find((one) => one === text);
    if (word === undefined) throw new InvalidArgumentError(`It must be one of ${words.join(", ")}.`);
    return [...(before ?? []), word];
  };

export const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];
