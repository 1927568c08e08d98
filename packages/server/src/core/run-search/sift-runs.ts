import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { FIRST_UUID, LAST_UUID } from "../../uuid.ts";
import { isSifted, type RunFilter } from "../runs/run-filter.ts";
import { keysOf, listConditions, listRunIds } from "../runs/run-list-reads.ts";
import { listTextsOf } from "../runs/run-text-reads.ts";
import { findIndexState, listBlocks, listRunsByWords, type SearchedBlock } from "./run-search-reads.ts";
import { matchesTerms, queryOf } from "./run-words.ts";
import { WORDS_VERSION } from "./words-version.ts";

/** Runs that are looked at in one step, and in one request. */
const STEP = 200;
const LOOKED_AT = 2_000;
/** Blocks that are looked into in one step, and in one request. */
const BLOCKS_OF_STEP = 512;
const BLOCKS_LOOKED_INTO = 4_096;

/** Requests that a count is made of. */
const REQUESTS = 5;

/** `next`: the list goes on with runs before this id; null: there are no more. */
export type Sifted = { ids: Uuid<"run">[]; next: string | null };

/** Candidates, newest first, and the id that nothing of them was passed over after; null: at the end. */
type Candidates = { ids: readonly Uuid<"run">[]; end: string | null; blocks: number };

/**
 * A page of runs that pass a filter which no index of the list answers: words, and runs that are hidden. Candidates come from
 * the index of words, or from the list where the runs have no words yet, and each is asked whether it matches. So what is
 * found does not depend on how far the index is. With words and other filters, both give candidates, and those that reach
 * further back are taken: whichever lets fewer pass. What is read is bounded: a page may have fewer runs than were asked for,
 * or none, and go on.
 */
export async function siftRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  before: string | null,
  limit: number,
): Promise<Sifted> {
  const source = await openSource(db, environmentId, filter);
  const found: Uuid<"run">[] = [];
  let position = keysOf(filter, before).before ?? LAST_UUID;
  let looked = 0;
  let blocks = 0;
  while (looked < LOOKED_AT && blocks < BLOCKS_LOOKED_INTO) {
    const step = await source.next(position);
    for (const id of await matching(db, environmentId, filter, step.ids)) {
      found.push(id);
      if (found.length === limit) return { ids: found, next: id };
    }
    if (step.end === null) return { ids: found, next: null };
    position = step.end;
    looked += step.ids.length;
    blocks += step.blocks;
  }
  return { ids: found, next: position };
}

/** A page of the runs that pass any filter. */
export async function listPage(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  before: string | null,
  limit: number,
): Promise<Sifted> {
  if (isSifted(filter)) return siftRuns(db, environmentId, filter, before, limit);
  const ids = await listRunIds(db, environmentId, filter, before, limit);
  return { ids, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
}

/** The newest of them, as many as a bounded number of requests finds. `more`: there are others, or may be. */
export async function siftNewest(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  most: number,
): Promise<{ ids: Uuid<"run">[]; more: boolean }> {
  const found: Uuid<"run">[] = [];
  let before: string | null = null;
  for (let request = 0; request < REQUESTS && found.length < most; request += 1) {
    const { ids, next } = await siftRuns(db, environmentId, filter, before, most - found.length);
    found.push(...ids);
    if (next === null) return { ids: found, more: false };
    before = next;
  }
  return { ids: found, more: true };
}

async function matching(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  ids: readonly Uuid<"run">[],
): Promise<Uuid<"run">[]> {
  if (ids.length === 0) return [];
  const texts = await listTextsOf(db, environmentId, ids, filter);
  const matched = new Set(texts.filter((run) => matchesTerms(run, filter.terms ?? [])).map(({ id }) => id));
  return ids.filter((id) => matched.has(id));
}

type CandidateSource = { next(position: string): Promise<Candidates> };

async function openSource(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
): Promise<CandidateSource> {
  const query = queryOf(filter.terms ?? []);
  const from = keysOf(filter, null).from ?? FIRST_UUID;
  const state = query === "" ? null : await findIndexState(db, environmentId);
  const isNarrow = listConditions({ ...filter, createdAfter: null, createdBefore: null }).length > 0;
  const byList = (position: string, least: string): Promise<Candidates> =>
    listCandidates(db, environmentId, { ...filter, idFrom: least }, position);
  if (state === null || state.version !== WORDS_VERSION)
    return { next: (position) => byList(position, from) };
  const { freshTo, wholeFrom } = state;
  return {
    next: async (position) => {
      if (position > freshTo) return goesOn(await byList(position, later(from, freshTo)), freshTo, from);
      if (position <= wholeFrom) return byList(position, from);
      const least = later(from, wholeFrom);
      const byWords = await wordCandidates(db, environmentId, { query, least }, position);
      // The end of the indexed part is not the end of the list.
      const words = goesOn(byWords, wholeFrom, from);
      if (!isNarrow || words.end === null) return words;
      const listed = goesOn(await byList(position, least), wholeFrom, from);
      return (listed.end ?? "") < words.end ? { ...listed, blocks: words.blocks } : words;
    },
  };
}

const later = (one: string, other: string): string => (one > other ? one : other);

/** At the end of a part, the list goes on with the next one, unless it begins before all that is wanted. */
const goesOn = (candidates: Candidates, partEnd: string, from: string): Candidates =>
  candidates.end === null && partEnd > from ? { ...candidates, end: partEnd } : candidates;

async function listCandidates(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  position: string,
): Promise<Candidates> {
  const ids = await listRunIds(db, environmentId, filter, position, STEP);
  return { ids, end: ids.length < STEP ? null : (ids.at(-1) ?? null), blocks: 0 };
}

async function wordCandidates(
  db: Queryable,
  environmentId: Uuid<"env">,
  { query, least }: { query: string; least: string },
  position: string,
): Promise<Candidates> {
  const blocks = await listBlocks(db, environmentId, position, BLOCKS_OF_STEP);
  const searched: SearchedBlock[] = [];
  let before = position;
  for (const { block, first } of blocks) {
    if (before <= least) break;
    searched.push({ block, first: later(first, least), before });
    before = first;
  }
  if (searched.length === 0) return { ids: [], end: null, blocks: 0 };
  const ids = await listRunsByWords(db, environmentId, query, searched, STEP);
  const read = { ids, blocks: searched.length };
  if (ids.length === STEP) return { ...read, end: ids.at(-1) ?? null };
  return { ...read, end: before > least ? before : null };
}
