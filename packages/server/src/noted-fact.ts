import type {
  FailureKind,
  Isolation,
  SkipReason,
  TerminalRunStatus,
  Uuid,
  WaitKind,
} from "@keelson/contract";

/**
 * What operations note for the metrics, and for what a server knows of ready runs: `tx.note` passes it on when the transaction is
 * durable, so that a report that is repeated, or a transaction that is rolled back, counts nothing. The shapes are parts of what the operations have in memory
 * already, so a fact costs one object per transaction.
 */
export type NotedFact = NotedRuns | NotedStarts | NotedWaits | NotedOccurrences;

export type NotedRun = {
  readonly execution: {
    readonly environmentId: Uuid<"env">;
    readonly runId: Uuid<"run">;
    readonly workerGroupId: Uuid<"wgrp">;
    readonly priority: number;
    readonly workspaceId: Uuid<"ws"> | null;
    readonly requiredIsolation: Isolation | null;
    /** It can be leased. */
    readonly ready: boolean;
    readonly attemptNumber: number;
    readonly startedAt: number | null;
  };
  /** Its first attempt had begun before this transaction. */
  readonly startedBefore: boolean;
  readonly ending: { readonly status: TerminalRunStatus; readonly at: number } | null;
  /** The failure after which its next attempt comes. */
  readonly retriedAfter: FailureKind | null;
  /** Null: it kept its lease, or its worker released it. */
  readonly leaseLost: { readonly cause: string; readonly begun: boolean } | null;
  /** What happened to it, in the short form in which it is stored. */
  readonly events: readonly { readonly k: string; readonly x?: Readonly<Record<string, unknown>> }[];
};

export type NotedRuns = {
  readonly kind: "runs";
  readonly runs: readonly NotedRun[];
  /** Entries of journals that were added. */
  readonly journal: readonly { readonly kind: string; readonly error: string | null }[];
};

/** A run that was started and is ready. */
export type NotedStart = {
  readonly id: Uuid<"run">;
  readonly environmentId: Uuid<"env">;
  readonly workerGroupId: Uuid<"wgrp">;
  readonly priority: number;
  readonly links: { readonly workspaceId: Uuid<"ws"> | null };
  readonly requiredIsolation: Isolation | null;
};

export type NotedStarts = { readonly kind: "starts"; readonly runs: readonly NotedStart[] };

export type NotedWaits = {
  readonly kind: "waits";
  readonly waits: readonly { readonly kind: WaitKind; readonly createdAt: number }[];
  readonly settledAt: number;
};

export type NotedOccurrences = {
  readonly kind: "occurrences";
  readonly occurrences: readonly {
    readonly scheduledAt: number;
    readonly status: "fired" | "skipped";
    readonly reason: SkipReason | null;
  }[];
  readonly at: number;
};
