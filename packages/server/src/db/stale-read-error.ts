/**
 * Thrown by work in a transaction that another one has overtaken: it was decided by what is not so any more. The
 * transaction is rolled back and run again, as after a serialization failure of PostgreSQL, whose code this is.
 */
export class StaleReadError extends Error {
  readonly code = "40001";
  override readonly name = "StaleReadError";
}
