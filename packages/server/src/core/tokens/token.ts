import type { TokenCompleterKind, TokenStatus } from "@keelson/contract";

/**
 * The life of a completion token: something that happens once, elsewhere.
 *
 * It is pending until somebody completes it, it is cancelled, or its time runs out, and never changes after that. Whoever
 * comes second learns what the first did: the same completion again is a success that changes nothing, every other
 * command is refused. Time counts from the moment it has run out, not from the sweep that notices it.
 */
export const TOKEN_EDGES = [
  { from: "pending", on: "first completion", to: "completed" },
  { from: "pending", on: "cancel", to: "cancelled" },
  { from: "pending", on: "timeout over", to: "expired" },
] as const satisfies readonly { from: TokenStatus; on: string; to: TokenStatus }[];

/** What the decisions look at. */
export type TokenFacts = { status: TokenStatus; timeoutAt: number };

/** Who completes. Browsers and providers are known by the token's own secrets alone and have no id. */
export type Completer = { kind: TokenCompleterKind; id: string | null };

export type TokenRefusal = {
  kind: "refuse";
  code: "token_completion_conflict" | "token_cancelled" | "token_expired" | "invalid_state";
  message: string;
};

/** `expire`: the time has run out and nobody has noted it yet; the command is decided again after that. */
export type CompletionDecision =
  | { kind: "complete" }
  | { kind: "already_completed" }
  | { kind: "expire" }
  | TokenRefusal;

/** Somebody completes the token. `isSame`: with data whose canonical form is that of the stored completion. */
export function decideCompletion(token: TokenFacts, isSame: boolean, now: number): CompletionDecision {
  switch (token.status) {
    case "pending":
      return token.timeoutAt <= now ? { kind: "expire" } : { kind: "complete" };
    case "completed":
      return isSame
        ? { kind: "already_completed" }
        : {
            kind: "refuse",
            code: "token_completion_conflict",
            message: "The token was completed with other data, which stays. Read the token to see it.",
          };
    case "cancelled":
      return {
        kind: "refuse",
        code: "token_cancelled",
        message: "The token was cancelled, and no run waits for it. Ask for a new one.",
      };
    case "expired":
      return {
        kind: "refuse",
        code: "token_expired",
        message: "The token's time has run out. Ask for a new token, with a longer timeout if needed.",
      };
  }
}

export type CancelDecision = { kind: "cancel" } | { kind: "none" } | { kind: "expire" } | TokenRefusal;

/** A caller says that the token is not wanted any more. */
export function decideCancel(token: TokenFacts, now: number): CancelDecision {
  switch (token.status) {
    case "pending":
      return token.timeoutAt <= now ? { kind: "expire" } : { kind: "cancel" };
    case "cancelled":
      return { kind: "none" };
    case "completed":
    case "expired":
      return {
        kind: "refuse",
        code: "invalid_state",
        message: `The token is ${token.status} already; only a pending one can be cancelled.`,
      };
  }
}

/** Time has passed. */
export function decideExpiry(token: TokenFacts, now: number): { kind: "expire" } | { kind: "none" } {
  switch (token.status) {
    case "pending":
      return token.timeoutAt <= now ? { kind: "expire" } : { kind: "none" };
    case "completed":
    case "cancelled":
    case "expired":
      return { kind: "none" };
  }
}
