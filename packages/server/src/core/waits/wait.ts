import type { DurableWaitKind, Uuid, WaitKind, WaitStatus } from "@keelson/contract";

/**
 * The life of a wait.
 *
 * A wait is one row of one durable call. It is pending until it resolves, times out, or its run ends without it; the
 * first of these wins, under the lock of the run's live row, and nothing changes it after that. The run's journal then
 * accepts it: from there on the outcome is part of the history that a replay repeats.
 */
export const WAIT_EDGES = [
  { from: "pending", on: "what it waits for has come", to: "resolved" },
  { from: "pending", on: "its time is over", to: "timed_out" },
  { from: "pending", on: "its run ended, or gave it up", to: "cancelled" },
] as const satisfies readonly { from: WaitStatus; on: string; to: WaitStatus }[];

export type WaitKey = { environmentId: Uuid<"env">; runId: Uuid<"run">; position: number };

/** A wait that settles by what its run says: its message has ended, or the code gave it up. */
export type SettledWait = WaitKey & { status: "resolved" | "cancelled" };

/** A wait about to be inserted, perhaps settled already. Times are milliseconds since the epoch. */
export type NewWait = WaitKey & {
  /** Where the run's SDK made the call; null when it keeps no places. */
  place: number | null;
  id: Uuid<"wait">;
  name: string;
  kind: DurableWaitKind;
  status: WaitStatus;
  tokenId: Uuid<"tok"> | null;
  streamId: Uuid<"strm"> | null;
  recordSequence: number | null;
  childRunId: Uuid<"run"> | null;
  messageId: Uuid<"msg"> | null;
  timeoutAt: number | null;
  at: number;
};

/** Whether a run waits for it. The end of a message is only heard of, whatever else the code does. */
export const isWaitedFor = <W extends { kind: DurableWaitKind }>(wait: W): wait is W & { kind: WaitKind } =>
  wait.kind !== "message";

/** What the passing of its time makes of a wait: a timer has then done what it was for. */
export function decideDue(kind: DurableWaitKind): "resolved" | "timed_out" {
  switch (kind) {
    case "timer":
      return "resolved";
    case "token":
    case "input":
    case "run":
    case "message":
      return "timed_out";
  }
}
