import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { listTexts } from "../runs/run-text-reads.ts";
import { listBlocksOf } from "./run-search-reads.ts";
import { placeWords, upsertWords } from "./run-search-writes.ts";
import { vectorOf } from "./run-words.ts";

/** Cuts the words of runs and stores them. Runs that are gone are passed over. */
export async function storeWords(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<void> {
  const texts = await listTexts(tx, environmentId, runIds);
  const blocks = new Map((await listBlocksOf(tx, environmentId, runIds)).map((one) => [one.id, one]));
  const words = texts.flatMap((run) => {
    const place = blocks.get(run.id);
    if (place === undefined) return [];
    const { id, isEnded } = run;
    return [{ id, isEnded, vector: vectorOf(run, place.block), blockFirst: place.first }];
  });
  await upsertWords(tx, environmentId, words);
  await placeWords(tx);
}
