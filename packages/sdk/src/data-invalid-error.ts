import type { PayloadIssue } from "./payload-schema.ts";
import { RETRY_ADVICE, type RetryAdvice } from "./retry-advice.ts";
import { KeelsonError } from "./keelson-error.ts";

/** A value does not fit its schema. Not caught, it fails the run without a retry. */
export class DataInvalidError extends KeelsonError {
  override readonly name: string = "DataInvalidError";
  /** The value. */
  readonly data: unknown;
  /** The problems that the schema found. */
  readonly issues: readonly PayloadIssue[];
  readonly [RETRY_ADVICE]: RetryAdvice = { retryable: false };

  constructor(what: string, data: unknown, issues: readonly PayloadIssue[]) {
    const places = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    super(`${what} does not fit its schema: ${places.join("; ")}`);
    this.data = data;
    this.issues = issues;
  }
}
