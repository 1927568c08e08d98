/** Every error that the SDK throws or rejects with, except for the reason of a signal that the caller aborts. */
export class KeelsonError extends Error {
  override readonly name: string = "KeelsonError";
}

/**
 * A call, a declaration or a setting cannot work as it is written: an id that nobody can use, a duration without a unit, a value
 * that is not JSON, a durable call outside of a run.
 */
export class UsageError extends KeelsonError {
  override readonly name: string = "UsageError";
}
