import type { Run } from "@keelson/contract";
import { formatDuration } from "@keelson/contract/plain";
import { DataInvalidError } from "./data-invalid-error.ts";
import { FINAL, RETRY_ADVICE, type RetryAdvice } from "./retry-advice.ts";
import type { PayloadIssue } from "./payload-schema.ts";
import { KeelsonError } from "./keelson-error.ts";

/** A step failed in its last try. `cause` has the name, message and stack of the last error. */
export class StepError extends KeelsonError {
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

/**
 * A try of a step took longer than the step's `timeout`. It is the `cause` of the `StepError` when no tries are left.
 */
export class StepTimeoutError extends KeelsonError {
  override readonly name: string = "StepTimeoutError";
  /** The step's name. */
  readonly step: string;

  constructor(step: string, timeoutMs: number) {
    super(`Step "${step}" took longer than its timeout of ${formatDuration(timeoutMs)}`);
    this.step = step;
  }
}

/** A command of `ctx.workspace.exec()` was lost with its machine, and does not run again: nobody knows how it ended. */
export class ExecLostError extends KeelsonError {
  override readonly name: string = "ExecLostError";
  /** The command's id. */
  readonly execId: string;

  constructor(name: string, execId: string, reruns: number) {
    const often = reruns === 0 ? "" : ` ${reruns + 1} times`;
    super(`"${name}" was lost${often} with the machine it ran on: nobody knows how it ended`);
    this.execId = execId;
  }
}

/** Somebody stopped the message that the code writes: the reason of its signal, and of the calls that wait for something. */
export class InterruptedError extends KeelsonError {
  override readonly name: string = "InterruptedError";

  constructor() {
    super("The message was interrupted");
  }
}

/**
 * The `timeout` of a wait passed before the awaited event. When the code does not catch the error, the run fails without a retry,
 * because each attempt has the same wait.
 */
export class WaitTimeoutError extends KeelsonError {
  override readonly name: string = "WaitTimeoutError";
  readonly [RETRY_ADVICE]: RetryAdvice = FINAL;
}

/** The token was cancelled: nobody will complete it. When the code does not catch the error, the run fails without a retry. */
export class TokenCancelledError extends KeelsonError {
  override readonly name: string = "TokenCancelledError";
  readonly [RETRY_ADVICE]: RetryAdvice = FINAL;
  /** The token. */
  readonly tokenId: string;

  constructor(tokenId: string) {
    super(`The token ${tokenId} was cancelled`);
    this.tokenId = tokenId;
  }
}

/**
 * The token's own `timeout` was over before anybody completed it. When the code does not catch the error, the run fails without a
 * retry.
 */
export class TokenExpiredError extends KeelsonError {
  override readonly name: string = "TokenExpiredError";
  readonly [RETRY_ADVICE]: RetryAdvice = FINAL;
  /** The token. */
  readonly tokenId: string;

  constructor(tokenId: string) {
    super(`The token ${tokenId} expired before it was completed`);
    this.tokenId = tokenId;
  }
}

/**
 * A run that `task.call()` waited for ended otherwise than succeeded. When the code does not catch the error, the run fails without a
 * retry, because each attempt has the same child.
 */
export class ChildRunError extends KeelsonError {
  override readonly name: string = "ChildRunError";
  readonly [RETRY_ADVICE]: RetryAdvice = FINAL;
  /** The child run. */
  readonly runId: string;
  /** Its task. */
  readonly task: string;
  /** How it ended. */
  readonly status: Run["status"];
  /** Why, where it failed. */
  readonly failure: Run["failure"];

  constructor(task: string, runId: string, status: Run["status"], failure: Run["failure"]) {
    const ended = status === "cancelled" ? "was cancelled" : status === "expired" ? "expired" : "failed";
    super(`The run ${runId} of "${task}" ${ended}${failure ? `: ${failure.message}` : ""}`);
    this.task = task;
    this.runId = runId;
    this.status = status;
    this.failure = failure;
  }
}

/**
 * The server refused a durable call; `code` is the error code, such as `session_closed`, or `invalid_request` for an option that it does not take.
 * Nothing of the call has happened, and the code can go on. The journal keeps the refusal, so that a replay has the same.
 */
export class RefusedError extends KeelsonError {
  override readonly name: string = "RefusedError";
  /** One of the error codes of the API. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The state of the session has another version than `ifVersion`: somebody else set it. Read it again, or use
 * `session.state.update()`.
 */
export class StateConflictError extends RefusedError {
  override readonly name: string = "StateConflictError";
  /** The version that the state has. */
  readonly version: number;

  constructor(message: string, version: number) {
    super("state_conflict", message);
    this.version = version;
  }
}

/**
 * A record of an input stream does not fit the channel's schema. The record counts as received, so the next `receive()`
 * returns the next record. When the code does not catch the error, the run fails without a retry, because another
 * attempt would receive the same record.
 */
export class InputInvalidError extends DataInvalidError {
  override readonly name: string = "InputInvalidError";
  /** The stream it came by. */
  readonly stream: string;
  /** The record's place in it. */
  readonly sequence: number;

  constructor(stream: string, sequence: number, data: unknown, issues: readonly PayloadIssue[]) {
    super(`Record ${sequence} of "${stream}"`, data, issues);
    this.stream = stream;
    this.sequence = sequence;
  }
}
