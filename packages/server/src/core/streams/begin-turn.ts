import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { markTurnBegun } from "./stream-writes.ts";

/**
 * Opens the input streams of a session to a turn that begins now: what they hold is this turn's, and what comes after this
 * moment and is not received will start the next one.
 */
export const beginTurn = (tx: Tx, environmentId: Uuid<"env">, sessionId: Uuid<"sess">): Promise<void> =>
  markTurnBegun(tx, environmentId, sessionId);
