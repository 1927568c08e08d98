// The statements that this process sends to PostgreSQL: the driver is listened to, the server under test is as it is.

import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";

export type RecordedQuery = {
  text: string;
  values: readonly unknown[];
  connection: unknown;
  /** Resolves when its caller has been told the answer. */
  answered: Promise<void>;
};

/** Which `work` a statement comes from. Requests that it makes are answered outside of it. */
const callers = new AsyncLocalStorage<() => Promise<void>>();

type Query = (this: pg.Client, ...given: unknown[]) => unknown;
type Answer = (...answer: unknown[]) => void;
const client = pg.Client.prototype as unknown as { query: Query };

/** The answer of a statement, as its caller takes it; then `next`. */
const followed =
  (take: Answer, next: () => void): Answer =>
  (...answer) => {
    take(...answer);
    next();
  };

/** Runs `work` and gives what it sent itself, without what the server's loops send meanwhile. */
export const recordOwnQueries = (work: () => Promise<void>): Promise<RecordedQuery[]> =>
  record(work, () => callers.getStore() === work);

/** Runs `work` and gives what was sent meanwhile by anybody in the process. */
export const recordQueries = (work: () => Promise<void>): Promise<RecordedQuery[]> =>
  record(work, () => true);

async function record(work: () => Promise<void>, isMeant: () => boolean): Promise<RecordedQuery[]> {
  const recorded: RecordedQuery[] = [];
  const { query } = client;
  client.query = function (this: pg.Client, ...given: unknown[]) {
    const [config] = given as [{ text?: unknown; values?: readonly unknown[] }];
    if (typeof config?.text !== "string" || !isMeant()) return query.apply(this, given);
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    recorded.push({ text: config.text, values: config.values ?? [], connection: this, answered });
    const told = given.map((part) => (typeof part === "function" ? followed(part as Answer, resolve) : part));
    const result = query.apply(this, told);
    if (result instanceof Promise) result.then(() => resolve(), resolve);
    return result;
  };
  try {
    await callers.run(work, work);
  } finally {
    client.query = query;
  }
  return recorded;
}
