import type { DurableError, EffectResult, JournalKind } from "@keelson/contract";
import type { KeptRun } from "./kept-run.ts";

type Placed = { position: number; place?: number };

/** Puts an outcome into the journal, and answers it. */
export function enter(
  run: KeptRun,
  { position, place }: Placed,
  kind: JournalKind,
  name: string,
  value: unknown,
  error: DurableError | null = null,
): EffectResult {
  run.enter({ position, place: place ?? null, kind, name, value, error });
  return { value, error };
}

export const refused = (code: string, message: string): DurableError => ({
  ...{ name: "RefusedError", message, stack: null, code },
});
