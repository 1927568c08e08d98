import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { listTextsToIndex } from "./run-search-reads.ts";
import { upsertWords } from "./run-search-writes.ts";
import { vectorOf } from "./run-words.ts";

/** Cuts the words of runs and stores them. Runs that are gone are passed over. */
export async function storeWords(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<void> {
  const texts = await listTextsToIndex(tx, environmentId, runIds);
  const words = texts.map((run) => ({ ...run, vector: vectorOf(run, run.block) }));
  await upsertWords(tx, environmentId, words);
}
