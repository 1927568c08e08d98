// Which lease calls have looked for runs: the driver is listened to, the server under test is as it is.

import pg from "pg";

/** The statement by which a lease call looks for runs. */
export const CLAIM = /INSERT INTO lease_requests[\s\S]*FROM claimed/;

/** The read of the worker before it: a call for which nothing waits need not look. */
const READ = / AS others_wait/;
const WAIT = ["othersWait", "workspaceRunsWait", "isolatedRunsWait"];

const seen = new Set<unknown>();
const waiting = new Map<string, () => void>();

type Answered = (error: Error | null, result?: { rows: Record<string, unknown>[] }) => void;
type Query = (this: pg.Client, ...given: unknown[]) => unknown;
const client = pg.Client.prototype as unknown as { query: Query };
const { query } = client;
client.query = function (this: pg.Client, ...given: unknown[]) {
  const [config, callback] = given as [{ text?: unknown; values?: readonly unknown[] }, Answered | undefined];
  if (typeof config?.text !== "string" || typeof callback !== "function") return query.apply(this, given);
  const isClaim = CLAIM.test(config.text);
  if (!isClaim && !READ.test(config.text)) return query.apply(this, given);
  const answered: Answered = (error, result) => {
    callback(error, result);
    const worker = result?.rows[0];
    if (error === null && (isClaim || (worker !== undefined && !WAIT.some((kind) => worker[kind] !== false))))
      note(config.values ?? []);
  };
  return query.call(this, config, answered);
};

function note(values: readonly unknown[]): void {
  for (const value of values) {
    seen.add(value);
    if (typeof value === "string") waiting.get(value)?.();
  }
}

/** Waits until the server, in this process, has looked for runs for that lease call. */
export async function untilClaimed(requestId: string): Promise<void> {
  if (seen.has(requestId)) return;
  await new Promise<void>((resolve) => waiting.set(requestId, resolve));
}
