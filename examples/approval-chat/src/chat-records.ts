/** What the streams of a conversation hold. The actor writes it and the page shows it. */

export const ACTOR_ID = "approval-chat";

/** A record of the input stream `input`. */
export type ChatInput = { text: string };

export type Outcome = "approved" | "refused" | "expired" | "stopped";

/**
 * A record of the output stream `output`. It is the whole conversation, what the person said included: a page that
 * reads it from the beginning shows everything. Its correlation id is that of the message it belongs to.
 */
export type ChatRecord =
  | { type: "message"; text: string; turn: number }
  /** An answer begins. Once more without `answered` between: it was interrupted, and begins again. */
  | { type: "answer" }
  | { type: "piece"; text: string }
  | { type: "answered" }
  /** The person did not want the rest of the answer. */
  | { type: "stopped" }
  | { type: "approval"; action: string; tokenId: string; publicAccessToken: string; expiresAt: string }
  | { type: "decision"; tokenId: string; outcome: Outcome }
  | { type: "failed"; reason: string };
