import type { Run } from "@keelson/contract";
import { RETRY_ADVICE, type RetryAdvice } from "./task-errors.ts";
import type { PayloadIssue } from "./payload-schema.ts";

/** A step failed and has no tries left. `cause` has the name, message and stack of what its function threw last. */
export class StepError extends Error {
  override readonly name: string = "StepError";
  /** The step's name. */
  readonly step: string;
  /** Not retryable once the failure is in the journal: another attempt would only read it there. */
  [RETRY_ADVICE]: RetryAdvice;

  constructor(step: string, cause: Error, advice: RetryAdvice) {
    super(`Step "${step}" failed: ${cause.message}`, { cause });
    this.step = step;
    this[RETRY_ADVICE] = advice;
  }
}

/** The `timeout` of a wait was over before what it waited for happened. */
export class WaitTimeoutError extends Error {
  override readonly name: string = "WaitTimeoutError";
}

/** The token was cancelled: nobody will complete it. */
export class TokenCancelledError extends Error {
  override readonly name: string = "TokenCancelledError";
  /** The token. */
  readonly tokenId: string;

  constructor(tokenId: string) {
    super(`The token ${tokenId} was cancelled`);
    this.tokenId = tokenId;
  }
}

/** The token's own `timeout` was over before anybody completed it. */
export class TokenExpiredError extends Error {
  override readonly name: string = "TokenExpiredError";
  /** The token. */
  readonly tokenId: string;

  constructor(tokenId: string) {
    super(`The token ${tokenId} expired before it was completed`);
    this.tokenId = tokenId;
  }
}

/** A run that `task.call()` waited for ended otherwise than succeeded. */
export class ChildRunError extends Error {
  override readonly name: string = "ChildRunError";
  /** The child run. */
  readonly runId: string;
  /** Its task. */
  readonly task: string;
  /** How it ended. */
  readonly status: Run["status"];
  /** Why, where it failed. */
  readonly failure: Run["failure"];

  constructor(task: string, runId: string, status: Run["status"], failure: Run["failure"]) {
    super(`The run ${runId} of "${task}" is ${status}${failure ? `: ${failure.message}` : ""}`);
    this.task = task;
    this.runId = runId;
    this.status = status;
    this.failure = failure;
  }
}

/** The server would not do what a durable call asked for; `code` is its error code, such as `session_closed`. */
export class RefusedError extends Error {
  override readonly name: string = "RefusedError";
  /** One of the error codes of the API. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * A record of an input stream does not fit the channel's schema. It has been received: the next `receive()` goes on
 * after it. Not caught, it fails the run without a retry, because another attempt would receive the same record.
 */
export class InputInvalidError extends Error {
  override readonly name: string = "InputInvalidError";
  /** The stream it came by. */
  readonly stream: string;
  /** The record's place in it. */
  readonly sequence: number;
  /** What was sent. */
  readonly data: unknown;
  /** What does not fit, as the schema says it. */
  readonly issues: readonly PayloadIssue[];
  readonly [RETRY_ADVICE]: RetryAdvice = { retryable: false };

  constructor(stream: string, sequence: number, data: unknown, issues: readonly PayloadIssue[]) {
    const places = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    super(`Record ${sequence} of "${stream}" does not fit its schema: ${places.join("; ")}`);
    this.stream = stream;
    this.sequence = sequence;
    this.data = data;
    this.issues = issues;
  }
}
