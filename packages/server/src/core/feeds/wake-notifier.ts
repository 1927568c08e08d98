/**
 * Tells other replicas what this one woke. Wakes are collected for a few milliseconds and sent as one NOTIFY: a NOTIFY
 * inside every start's transaction would take PostgreSQL's notification lock at each commit (it halves the rate of starts).
 * A lost notification is repaired by the slow poll of whoever waits.
 */
export type WakeNotifier = {
  add(key: string): void;
  /** What a notification from any replica says: the keys to wake, or null for everything; own ones are skipped. */
  read(payload: string): string[] | null;
  /** Sends what is collected. */
  stop(): Promise<void>;
};

export const WAKE_CHANNEL = "keelson_wakes";

/** PostgreSQL takes 8,000 bytes; keys are ASCII. */
const MAX_PAYLOAD_BYTES = 7_900;
const EVERYTHING = "*";

export type WakeNotifierOptions = {
  /** Distinguishes this replica's own notifications. */
  replicaId: string;
  intervalMs: number;
  notify(channel: string, payload: string): Promise<void>;
  onError(error: unknown): void;
};

export function createWakeNotifier(options: WakeNotifierOptions): WakeNotifier {
  const keys = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> = Promise.resolve();

  const send = async (): Promise<void> => {
    timer = undefined;
    if (keys.size === 0) return;
    const joined = [...keys].join(" ");
    keys.clear();
    const body = joined.length > MAX_PAYLOAD_BYTES - options.replicaId.length ? EVERYTHING : joined;
    try {
      await options.notify(WAKE_CHANNEL, `${options.replicaId} ${body}`);
    } catch (error) {
      options.onError(error);
    }
  };

  return {
    add: (key) => {
      keys.add(key);
      timer ??= setTimeout(() => {
        sending = sending.then(send);
      }, options.intervalMs);
    },
    read: (payload) => {
      const [replicaId, ...woken] = payload.split(" ");
      if (replicaId === options.replicaId) return [];
      return woken[0] === EVERYTHING ? null : woken;
    },
    stop: async () => {
      clearTimeout(timer);
      await (sending = sending.then(send));
    },
  };
}
