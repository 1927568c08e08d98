import { DomainError } from "../../domain-error.ts";

/** Worth another try when something has ended. */
const RETRY_AFTER_SECONDS = 1;

export const tooManyRuns = (limit: number): DomainError =>
  new DomainError(
    "rate_limited",
    `This environment may have ${limit} live runs and has as many. Wait until some have ended, or ask an operator for more.`,
    { quota: "live_runs", limit, retry_after_seconds: RETRY_AFTER_SECONDS },
  );

export const tooManyStreams = (limit: number): DomainError =>
  new DomainError("rate_limited", `This environment has ${limit} event streams open; close some first.`, {
    quota: "event_streams",
    limit,
    retry_after_seconds: RETRY_AFTER_SECONDS,
  });

/** Waiting does not help, so it is none of the refusals that clients repeat. */
export const tooManyBytes = (limit: number, used: number): DomainError =>
  new DomainError(
    "payload_too_large",
    `This environment may store ${limit} bytes and stores ${used}. Delete workspaces that are not needed, or ask an operator for more.`,
    { quota: "stored_bytes", limit_bytes: limit, used_bytes: used },
  );
