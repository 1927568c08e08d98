import type { InputDisposition, RecordSourceKind, StreamDirection, Uuid } from "@keelson/contract";

/**
 * A stream is a named list of records of a session, in one direction for life, numbered from 1 without gaps. It is made
 * when it is first used. Its number is advanced in the transaction that appends, under the lock of its row, and its gate
 * says there what the session's state means for an append:
 *
 * - `open`: records are taken;
 * - `idle`: the session's newest run has ended, so a record of this input stream starts the next turn;
 * - `ended`: the session has ended, so only a run of it that is still live appends.
 */
export const STREAM_GATES = ["open", "idle", "ended"] as const;
export type StreamGate = (typeof STREAM_GATES)[number];

export type StreamKey = { environmentId: Uuid<"env">; sessionId: Uuid<"sess">; name: string };

/** A record to be appended. `data` is JSON text and is kept as it is. */
export type NewRecord = {
  id: Uuid<"rec">;
  data: string;
  contentType: string | null;
  correlationId: string | null;
};

/**
 * Who appends. `id` is what is shown: a key, a user, a public access token, a run or a schedule. What a run appends may be
 * pieces of a message.
 */
export type RecordSource = {
  kind: RecordSourceKind;
  id: string | null;
  runId: Uuid<"run"> | null;
  attemptNumber: number | null;
  messageId: Uuid<"msg"> | null;
};

/**
 * Records for one stream, all or none of them. `at` is milliseconds since the epoch. `steer`, of input: whether it is to steer the
 * turn that is live; undefined where that is as the actor declares.
 */
export type Append = StreamKey & {
  direction: StreamDirection;
  records: readonly NewRecord[];
  source: RecordSource;
  at: number;
  steer?: boolean | undefined;
};

/** Where the records of an append stand: the first one's sequence, and the others after it. */
export type Appended = { streamId: Uuid<"strm">; firstSequence: number };

/** An append with the place that it got. */
export type PlacedAppend = Appended & { append: Append };

/** As it was stored: `steer` is what the sender says or the actor declares. */
export type Inserted = Appended & { steer: boolean };

/** What an append of input has done. `delivered`: the records of its stream that waiting runs have received with it. */
export type Arrival = { startsTurn: boolean; delivered: ReadonlySet<number>; steer: boolean };

/** `arrival` is null for output. */
export type Sent = Appended & { arrival: Arrival | null };

export function dispositionOf({ startsTurn, delivered, steer }: Arrival, sequence: number): InputDisposition {
  if (startsTurn) return "started";
  if (delivered.has(sequence)) return "delivered";
  return steer ? "steered" : "queued";
}

/** What the session's state means for appends to a stream of it. */
export function gateOf(session: { isOpen: boolean; idle: boolean }, direction: StreamDirection): StreamGate {
  if (!session.isOpen) return "ended";
  return session.idle && direction === "input" ? "idle" : "open";
}

export const keyOfStream = ({ environmentId, sessionId, name }: StreamKey): string =>
  `${environmentId} ${sessionId} ${name}`;

/** A record as it is stored. `data` is JSON text; the time is milliseconds. */
export type RecordRow = {
  id: Uuid<"rec">;
  sequence: number;
  data: string;
  contentType: string | null;
  correlationId: string | null;
  sourceKind: RecordSourceKind;
  sourceId: string | null;
  runId: Uuid<"run"> | null;
  attemptNumber: number | null;
  messageId: Uuid<"msg"> | null;
  createdAt: number;
  /** Nobody has received it, and nobody will; `data` is null. */
  withdrawnAt: number | null;
  /** True of an input that is to steer the turn that was live when it came. */
  steer: boolean | null;
};

/** What a stream says of its input that no run has received. */
export type Unreceived = {
  lastSequence: number;
  receivedSequence: number;
  withdrawnSequences: readonly number[] | null;
};

/** The first record after this one that a run may receive, whether or not it is there yet. */
export function nextSequence({ withdrawnSequences }: Unreceived, after: number): number {
  const withdrawn = new Set(withdrawnSequences);
  let next = after + 1;
  while (withdrawn.has(next)) next += 1;
  return next;
}

/** Whether a record after this one is there that a run may receive. */
export const hasInputAfter = (stream: Unreceived, after: number): boolean =>
  nextSequence(stream, Math.max(after, stream.receivedSequence)) <= stream.lastSequence;

export type WithdrawDecision =
  | { kind: "withdraw"; withdrawnSequences: number[] }
  | { kind: "none" | "refuse" };

/** A caller takes an input back. A second time changes nothing. */
export function decideWithdraw(
  { receivedSequence, withdrawnSequences }: Unreceived,
  { sequence, withdrawnAt }: Pick<RecordRow, "sequence" | "withdrawnAt">,
): WithdrawDecision {
  if (withdrawnAt !== null) return { kind: "none" };
  if (sequence <= receivedSequence) return { kind: "refuse" };
  // Those that have been passed over are left out: the list stays short.
  const others = (withdrawnSequences ?? []).filter((other) => other > receivedSequence);
  return { kind: "withdraw", withdrawnSequences: [...others, sequence] };
}
