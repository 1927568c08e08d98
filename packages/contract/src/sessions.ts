/** States of sessions, tokens and waits: the words of the wire, shared by server, worker, SDK and CLI. */

export const SESSION_STATUSES = ["open", "closed", "cancelled", "failed", "expired"] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/** What an open session's newest run does; `idle` when it has ended. */
export const SESSION_ACTIVITIES = ["idle", "queued", "running", "waiting"] as const;
export type SessionActivity = (typeof SESSION_ACTIVITIES)[number];

/** What becomes of an open session when a run of it fails: its actor declares it. */
export const SESSION_ON_FAILURE = ["keep_open", "end"] as const;
export type SessionOnFailure = (typeof SESSION_ON_FAILURE)[number];

export const STREAM_DIRECTIONS = ["input", "output"] as const;
export type StreamDirection = (typeof STREAM_DIRECTIONS)[number];

/** What an input did when it was appended. */
export const INPUT_DISPOSITIONS = ["started", "delivered", "queued", "steered"] as const;
export type InputDisposition = (typeof INPUT_DISPOSITIONS)[number];

/** What an input does when a turn is live and no run waits for it: its sender says it, or the actor declares it. */
export const WHILE_BUSY = ["enqueue", "interrupt", "steer", "reject"] as const;
export type WhileBusy = (typeof WHILE_BUSY)[number];

/** Names of the streams that are meant when none is named. */
export const DEFAULT_INPUT_STREAM = "input";
export const DEFAULT_OUTPUT_STREAM = "output";

/** A message is written in pieces, and ends once. */
export const MESSAGE_STATUSES = ["open", "complete", "failed", "interrupted"] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];
export type MessageEnd = Exclude<MessageStatus, "open">;

/** What a request to interrupt a message answers. */
export const INTERRUPT_STATUSES = ["interrupting", "ended"] as const;

/** The content type of a record that says something of a message and is no piece of it. */
export const MESSAGE_CONTENT_TYPE = "application/vnd.keelson.message+json";

/**
 * The data of such a record. `voided`: the pieces of the message from there to there count no more, or up to this record when there is
 * no end, because what wrote them writes again.
 */
export type MessageNews =
  | { event: "started"; message_id: string }
  | { event: "voided"; message_id: string; from_sequence: number; to_sequence: number | null }
  | { event: "ended"; message_id: string; status: MessageEnd };

export const RECORD_SOURCE_KINDS = ["api", "public_access_token", "run", "schedule"] as const;
export type RecordSourceKind = (typeof RECORD_SOURCE_KINDS)[number];

/** Who wrote the state of a session: a run, or a credential. */
export const STATE_SOURCE_KINDS = ["api", "run"] as const;
export type StateSourceKind = (typeof STATE_SOURCE_KINDS)[number];

/** What a run does with the state of its session. */
export const STATE_ACTIONS = ["get", "set"] as const;

export const TOKEN_STATUSES = ["pending", "completed", "cancelled", "expired"] as const;
export type TokenStatus = (typeof TOKEN_STATUSES)[number];

/** Who completed a token: a key, a user, a browser with its public access token, or a provider by the callback. */
export const TOKEN_COMPLETER_KINDS = ["api_key", "user", "public", "callback", "run"] as const;
export type TokenCompleterKind = (typeof TOKEN_COMPLETER_KINDS)[number];

/** What runs wait for. */
export const WAIT_KINDS = ["timer", "token", "input", "run"] as const;
export type WaitKind = (typeof WAIT_KINDS)[number];

/** What has a place in a run's journal when it comes: `message` is the end of a message, which holds no run up. */
export const DURABLE_WAIT_KINDS = ["timer", "token", "input", "run", "message"] as const;
export type DurableWaitKind = (typeof DURABLE_WAIT_KINDS)[number];

export const WAIT_STATUSES = ["pending", "resolved", "timed_out", "cancelled"] as const;
export type WaitStatus = (typeof WAIT_STATUSES)[number];

/** What a position of a run's journal holds the outcome of. */
export const JOURNAL_KINDS = [
  "step",
  "value",
  "wait",
  "token",
  "child_run",
  "output",
  "input",
  "exec",
  "state",
] as const;
export type JournalKind = (typeof JOURNAL_KINDS)[number];
