import type { Uuid } from "@keelson/contract";
import type { Execution, ExecutionKey, RowVersion } from "./execution.ts";

/** A live row as this server has written it. */
export type WrittenExecution = { execution: Execution; version: RowVersion };

/**
 * Live rows of leased runs as this server has written them last, a moment ago. What is decided on one is written only while the row is
 * of that version still: what anybody else has written since is never lost, and only costs an attempt.
 */
export type WrittenExecutions = {
  /** Takes these away, to decide on them; null when not all of them are known. */
  take(keys: readonly ExecutionKey[]): WrittenExecution[] | null;
  /** They were written, and are of that version now. */
  keep(executions: readonly Execution[], version: RowVersion): void;
  /** Something else writes them. */
  forget(keys: readonly ExecutionKey[]): void;
  forgetAll(): void;
  /** How many are known, or were. */
  size(): number;
};

const MOST = 10_000;
/** Then its lease is renewed, maybe by another server. */
const FRESH_MS = 5_000;
/** Longer metadata is read each time. */
const METADATA_CHARACTERS = 4_096;

export function createWrittenExecutions(
  monotonic: () => number = () => performance.now(),
): WrittenExecutions {
  /** The oldest first. */
  const written = new Map<Uuid<"run">, WrittenExecution & { at: number }>();
  const isKept = ({ workerId, metadata }: Execution): boolean =>
    workerId !== null && (metadata === null || metadata.length <= METADATA_CHARACTERS);
  const forgetOld = (now: number): void => {
    for (const [runId, { at }] of written) {
      if (now - at < FRESH_MS && written.size < MOST) return;
      written.delete(runId);
    }
  };
  const forget = (keys: readonly ExecutionKey[]): void => {
    for (const { runId } of keys) written.delete(runId);
  };
  return {
    take: (keys) => {
      const now = monotonic();
      const taken = keys.flatMap(({ environmentId, runId }) => {
        const known = written.get(runId);
        if (known?.execution.environmentId !== environmentId || now - known.at >= FRESH_MS) return [];
        const { execution, version } = known;
        return [{ execution, version }];
      });
      if (taken.length < keys.length) return null;
      forget(keys);
      return taken;
    },
    keep: (executions, version) => {
      const at = monotonic();
      forget(executions);
      for (const execution of executions.filter(isKept)) {
        forgetOld(at);
        written.set(execution.runId, { execution, version, at });
      }
    },
    forget,
    forgetAll: () => written.clear(),
    size: () => written.size,
  };
}
