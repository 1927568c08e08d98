import type { Uuid } from "@keelson/contract";

/**
 * A feed is what grows at its end and is read by cursor: events and logs of a run, records of a stream, output of a
 * process. It is over when its source has ended and everything has been read.
 */
export type Feed<Batch> = {
  /** Feeds with the same key give the same pages. */
  key: string;
  /** What it is a feed of: it is looked at now and then, should a wake be lost. */
  source: FeedSource;
  /** What wakes a follower of this feed. */
  wakeKey: string;
  /** One read: what came after the cursor, in order. */
  read(after: number): Promise<FeedPage<Batch>>;
};

/** Of a stream also its session's state counts, and the session alone while it has no such stream; of a run its logs, too. */
export type FeedSource = {
  kind: "run" | "stream" | "session" | "process" | "deployment";
  environmentId: Uuid<"env">;
  id: string;
};

/** `batch`: null when nothing came after the cursor. `end`: the final state, once everything has been read. */
export type FeedPage<Batch> = { batch: Batch | null; cursor: number; end: unknown };

/** Where a follower's batches go. */
export type Sink<Batch> = {
  /** What to wait for before the batch is written; undefined when there is nothing. */
  turn(batch: Batch): Promise<void> | undefined;
  /** @returns false when it can take no more for now. */
  write(batch: Batch): boolean;
  /** Resolves when it can take more, or its reader is gone. */
  drained(): Promise<void>;
};

/** The final state, and the cursor at which everything was read. */
export type FeedEnd = { state: unknown; cursor: number };
