import { decodeId, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { decideStarted } from "./processes.ts";
import { lockWaiting } from "./process-reads.ts";
import { markRunning } from "./process-writes.ts";

/**
 * Starts processes that waited for a materialization, which is live now and whose workspace is locked. Those that were
 * started before by it are started still, so that a repeat is answered the same.
 *
 * @param texts their ids, as the worker wrote them.
 * @returns those that are to begin, as the worker wrote them. The others have ended, or are not the workspace's.
 */
export async function startWaiting(
  tx: Tx,
  materialization: { environmentId: Uuid<"env">; id: Uuid<"mat">; workspaceId: Uuid<"ws"> },
  texts: readonly string[],
  now: number,
): Promise<string[]> {
  const named = byId(texts);
  if (named.size === 0) return [];
  const started: string[] = [];
  for (const { id, status } of await lockWaiting(tx, materialization, [...named.keys()])) {
    const decision = decideStarted(status);
    if (decision.kind === "refuse") continue;
    if (decision.kind === "move") {
      await markRunning(tx, materialization.environmentId, id, materialization.id, now);
      tx.wake(wakeKeys.process(id));
    }
    started.push(named.get(id) as string);
  }
  return started;
}

/** What a worker wrote, by the processes that it means. What cannot be an id is left out. */
export const byId = (texts: readonly string[]): Map<Uuid<"exec" | "pty">, string> =>
  new Map(
    texts.flatMap((text) => {
      const id = decodeId(text.startsWith("pty_") ? "pty" : "exec", text);
      return id === null ? [] : [[id, text] as const];
    }),
  );
