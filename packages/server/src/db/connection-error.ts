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

/** What is said when an answer does not come in time, in the words of the driver. */
export const SILENCE = "Query read timeout";

// Class 08 is "connection exception"; the others: shut down by an administrator, after a crash, not accepting yet, session
// timeout, too many connections, a transaction left idle, a server that is read-only because it is no primary any more.
const SQL_STATES = new Set(["57P01", "57P02", "57P03", "57P05", "53300", "25P03", "25006"]);

// `pg` gives these no code.
const MESSAGES =
  /^(PostgreSQL confirms no commit|Connection terminated|Query read timeout|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed and is not queryable|Cannot use a pool after calling end|Connection ended)/;

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

/** Whether no answer came in time: the connection may be dead, and every other with it. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === SILENCE;
}

/** As the driver and the pool say it when an answer, or a connection, did not come in time. */
const UNANSWERED =
  /^(Query read timeout|timeout expired|timeout exceeded when trying to connect|Connection terminated due to connection timeout)/;

/** Whether time was over before PostgreSQL said anything: whoever waited behind that has waited as long. */
export function isUnanswered(error: unknown): boolean {
  for (let link = error; link instanceof Error; link = link.cause)
    if (UNANSWERED.test(link.message)) return true;
  return false;
}

// statement_timeout and lock_timeout.
const TIMEOUT_STATES = new Set(["57014", "55P03"]);

/** Whether PostgreSQL gave up a statement because it took too long: it was rolled back. */
export function isStatementTimeout(error: unknown): boolean {
  for (let link = error; link instanceof Error; link = link.cause) {
    const { code } = link as { code?: unknown };
    if (typeof code === "string" && TIMEOUT_STATES.has(code)) return true;
  }
  return false;
}
