import { DomainError } from "../../domain-error.ts";
import { isOver } from "./processes.ts";
import type { ProcessRow } from "./process-reads.ts";

/**
 * What is sent to a locked process can still reach it.
 *
 * @throws DomainError `invalid_state` when it has ended, or when its close was taken.
 */
export function requireTaking({ status, closing }: ProcessRow): void {
  if (isOver(status)) {
    throw new DomainError("invalid_state", `The process is ${status} and takes no more input.`, {
      status,
    });
  }
  if (closing) {
    throw new DomainError(
      "invalid_state",
      "The terminal is closing and takes no more input. Open another terminal.",
      { status, closing },
    );
  }
}
