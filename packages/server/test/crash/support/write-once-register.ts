import type { Step } from "./check-linearizable.ts";

/**
 * A token as a register that is written once: null while it is pending, then for ever what it was completed with, or
 * `CANCELLED`.
 */
export type RegisterInput = { kind: "complete"; data: string } | { kind: "cancel" } | { kind: "read" };

export const CANCELLED = "(cancelled)";

/** `data`: what a read saw. */
export type RegisterOutput =
  | { kind: "completed" }
  | { kind: "already_completed" }
  | { kind: "token_completion_conflict" }
  | { kind: "token_cancelled" }
  | { kind: "cancelled" }
  | { kind: "invalid_state" }
  | { kind: "read"; data: string | null };

export const writeOnceRegister: Step<string | null, RegisterInput, RegisterOutput> = (
  state,
  input,
  output,
) => {
  if (output !== null && output.kind !== expected(state, input)) return "impossible";
  if (output?.kind === "read" && output.data !== state) return "impossible";
  return { state: state ?? written(input) };
};

function written(input: RegisterInput): string | null {
  switch (input.kind) {
    case "complete":
      return input.data;
    case "cancel":
      return CANCELLED;
    case "read":
      return null;
  }
}

function expected(state: string | null, input: RegisterInput): RegisterOutput["kind"] {
  switch (input.kind) {
    case "read":
      return "read";
    case "cancel":
      return state === null || state === CANCELLED ? "cancelled" : "invalid_state";
    case "complete":
      if (state === null) return "completed";
      if (state === CANCELLED) return "token_cancelled";
      return state === input.data ? "already_completed" : "token_completion_conflict";
  }
}
