// Tells a lost or refused connection from an error of a statement. After a lost connection the outcome of a write is
// unknown: the HTTP layer answers 503, and the caller asks again with the same idempotency key.

const SYSTEM_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOTCONN",
]);

// Class 08 is "connection exception"; the others: shut down by an administrator, after a crash, not accepting yet, session
// timeout, too many connections.
const SQL_STATES = new Set(["57P01", "57P02", "57P03", "57P05", "53300"]);

// `pg` gives these no code.
const MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end|Connection ended)/;

/** Whether `error`, or a cause of it, says that the database could not be reached or went away. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code !== undefined) {
    if (SYSTEM_CODES.has(code) || SQL_STATES.has(code) || /^08\w{3}$/.test(code)) return true;
    // The unix socket of a server that is down.
    if ((code === "ENOENT" || code === "EACCES") && syscall === "connect") return true;
  }
  if (MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError && error.errors.some(isConnectionError)) return true;
  return isConnectionError(error.cause);
}
