import type { Tx } from "../../db/queryable.ts";
import type { NewState } from "./session-state.ts";
import { upsertSessionStates } from "./session-state-writes.ts";

/** What runs have set the states of their sessions to. The sessions are locked, and the versions decided under their locks. */
export const storeStates = (tx: Tx, states: readonly NewState[]): Promise<void> =>
  upsertSessionStates(tx, states);
