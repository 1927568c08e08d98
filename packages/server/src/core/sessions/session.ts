import type {
  RunStatus,
  SessionActivity,
  SessionOnFailure,
  SessionStatus,
  TerminalRunStatus,
} from "@keelson/contract";

/**
 * A session is a conversation: named streams that outlive the runs which read and write them. It begins with its first
 * run, has one run at a time, and each input that comes when the newest run has ended starts the next one. It is open
 * until it is closed or cancelled, or its time is over; then it takes no more input, and a run that is still live may
 * finish. A run that fails ends it too, unless its actor keeps sessions open. What has ended never opens again: its
 * external id is free for another session.
 */

export const SESSION_EDGES: readonly { from: SessionStatus; on: string; to: SessionStatus }[] = [
  { from: "open", on: "close", to: "closed" },
  { from: "open", on: "cancel", to: "cancelled" },
  { from: "open", on: "its run fails or expires, and its actor does not keep sessions open", to: "failed" },
  { from: "open", on: "expires_at over", to: "expired" },
];

export type SessionDecision =
  | { kind: "none" }
  | { kind: "refuse"; message: string }
  | { kind: "end"; status: Exclude<SessionStatus, "open">; reason: string | null };

const refuse = (status: SessionStatus, what: string): SessionDecision => ({
  kind: "refuse",
  message: `The session has already ended as ${status}; an ended session cannot be ${what}.`,
});

/** A caller ends the input. Closing again changes nothing. */
export function decideClose(status: SessionStatus, reason: string | null): SessionDecision {
  switch (status) {
    case "open":
      return { kind: "end", status: "closed", reason };
    case "closed":
      return { kind: "none" };
    case "cancelled":
    case "failed":
    case "expired":
      return refuse(status, "closed");
  }
}

/** A caller ends the session and its live run. Cancelling again changes nothing. */
export function decideSessionCancel(status: SessionStatus): SessionDecision {
  switch (status) {
    case "open":
      return { kind: "end", status: "cancelled", reason: null };
    case "cancelled":
      return { kind: "none" };
    case "closed":
    case "failed":
    case "expired":
      return refuse(status, "cancelled");
  }
}

/** Its time is over. */
export function decideSessionExpiry(status: SessionStatus): SessionDecision {
  switch (status) {
    case "open":
      return { kind: "end", status: "expired", reason: "The session's expires_at has passed." };
    case "closed":
    case "cancelled":
    case "failed":
    case "expired":
      return { kind: "none" };
  }
}

/** How the newest run of a session ended. `failure` is null where the run has none, as one that no worker took. */
export type TurnEnd = { status: TerminalRunStatus; failure: { kind: string; message: string } | null };

/** Why the newest turn failed. */
export type TurnFailure = { code: string; message: string };

/** What a session shows as its last failure, after a turn has ended. A cancelled turn says nothing about the one before. */
export type LastFailure = { kind: "keep" } | { kind: "clear" } | { kind: "set"; failure: TurnFailure };

export type RunEndedDecision = { session: SessionDecision; lastFailure: LastFailure };

/** The newest run has ended. `onFailure` is what the failed run's actor declared; a session of a task ends. */
export function decideRunEnded(
  status: SessionStatus,
  end: TurnEnd,
  onFailure: SessionOnFailure,
): RunEndedDecision {
  const none: SessionDecision = { kind: "none" };
  switch (end.status) {
    case "succeeded":
      return { session: none, lastFailure: { kind: "clear" } };
    case "cancelled":
      return { session: none, lastFailure: { kind: "keep" } };
    case "failed":
    case "system_failed":
    case "expired": {
      const failure = turnFailure(end);
      const ends = status === "open" && onFailure === "end";
      return {
        session: ends ? { kind: "end", status: "failed", reason: failure.message } : none,
        lastFailure: { kind: "set", failure },
      };
    }
  }
}

function turnFailure({ status, failure }: TurnEnd): TurnFailure {
  if (failure !== null) return { code: failure.kind, message: failure.message };
  return status === "expired"
    ? { code: status, message: "No worker took the run within its time to live." }
    : { code: status, message: "A run of the session failed." };
}

/** What the newest run of a session does; the status is null once it has ended. */
export function activityOf(runStatus: RunStatus | null): SessionActivity {
  switch (runStatus) {
    case "queued":
    case "retry_delayed":
      return "queued";
    case "running":
    case "cancel_requested":
      return "running";
    case "waiting":
      return "waiting";
    case null:
    case "succeeded":
    case "failed":
    case "cancelled":
    case "expired":
    case "system_failed":
      return "idle";
  }
}
