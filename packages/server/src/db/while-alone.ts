import { openSession, sever } from "./open-session.ts";

/** Says that the lock is still held; rejects when its connection was lost, and with it the lock. */
export type StillAlone = () => Promise<void>;

const ANSWER_MS = 30_000;

/**
 * Runs `work` while no other server holds the lock; null, and nothing is done, while one does. The lock ends with its
 * connection and never by time: a process that is slow or suspended keeps it, and what a dead one has left may be taken up.
 */
export async function whileAlone<Result>(
  directUrl: string,
  lock: number,
  work: (stillAlone: StillAlone) => Promise<Result>,
): Promise<Result | null> {
  const client = await openSession({ url: directUrl, applicationName: "keelson alone", answerMs: ANSWER_MS });
  try {
    const { rows } = await client.query<{ taken: boolean }>("SELECT pg_try_advisory_lock($1) AS taken", [
      lock,
    ]);
    if (rows[0]?.taken !== true) return null;
    const result = await work(async () => void (await client.query("SELECT 1")));
    // Answered before the next one asks for the lock; the end of the connection would be noticed some time later.
    await client.query("SELECT pg_advisory_unlock($1)", [lock]);
    return result;
  } finally {
    sever(client);
  }
}
