import type { RunStatus, SessionActivity, SessionStatus, TerminalRunStatus } from "@keelson/contract";

/**
 * A session is a conversation: named streams that outlive the runs which read and write them. It begins with its first
 * run, has one run at a time, and each input that comes when the newest run has ended starts the next one. It is open
 * until it is closed or cancelled, its time is over, or a run of it fails; then it takes no more input, and a run that is
 * still live may finish. What has ended never opens again: its external id is free for another session.
 */

export const SESSION_EDGES: readonly { from: SessionStatus; on: string; to: SessionStatus }[] = [
  { from: "open", on: "close", to: "closed" },
  { from: "open", on: "cancel", to: "cancelled" },
  { from: "open", on: "its run fails or expires", to: "failed" },
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

/** The newest run has ended. A cancelled one leaves the session open: the next input starts another. */
export function decideRunEnded(
  status: SessionStatus,
  runStatus: TerminalRunStatus,
  message: string | null,
): SessionDecision {
  if (status !== "open") return { kind: "none" };
  switch (runStatus) {
    case "succeeded":
    case "cancelled":
      return { kind: "none" };
    case "failed":
    case "system_failed":
      return { kind: "end", status: "failed", reason: message ?? "A run of the session failed." };
    case "expired":
      return { kind: "end", status: "failed", reason: "No worker took the run within its time to live." };
  }
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
