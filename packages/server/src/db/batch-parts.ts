import type { BatchOutcome } from "./batcher.ts";
import { isUnanswered } from "./connection-error.ts";

/** Bounds one statement's text, whatever the items hold. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

function splitBySize<Item>(batch: readonly Item[], charactersOf: (item: Item) => number): Item[][] {
  const parts: Item[][] = [];
  let left = 0;
  for (const item of batch) {
    const characters = charactersOf(item);
    if (parts.length === 0 || characters > left) {
      parts.push([]);
      left = MAX_CHARACTERS;
    }
    left -= characters;
    parts.at(-1)?.push(item);
  }
  return parts;
}

/**
 * A batch in parts of bounded size, one after the other; a part that fails fails alone. Where PostgreSQL does not answer one
 * in time, those after it would wait for as long again: they fail with it, and so does what waits for this batch.
 */
export async function inParts<Item, Result>(
  batch: readonly Item[],
  charactersOf: (item: Item) => number,
  run: (part: readonly Item[]) => Promise<BatchOutcome<Result>[]>,
): Promise<BatchOutcome<Result>[]> {
  const outcomes: BatchOutcome<Result>[] = [];
  for (const part of splitBySize(batch, charactersOf)) {
    try {
      outcomes.push(...(await run(part)));
    } catch (error) {
      const failed: BatchOutcome<Result> = { ok: false, error };
      if (!isUnanswered(error)) outcomes.push(...part.map(() => failed));
      else if (outcomes.length === 0) throw error;
      else return [...outcomes, ...batch.slice(outcomes.length).map(() => failed)];
    }
  }
  return outcomes;
}

export const succeeded = <Result>(value: Result): BatchOutcome<Result> => ({ ok: true, value });
