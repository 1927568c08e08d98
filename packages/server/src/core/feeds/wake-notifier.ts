/**
 * Tells other replicas what this one woke. Wakes are collected for a few milliseconds and sent as one NOTIFY: a NOTIFY
 * inside every start's transaction would take PostgreSQL's notification lock at each commit (it halves the rate of starts).
 * A lost notification is repaired by the slow poll of whoever waits. A replica that is alone tells nobody: each NOTIFY is a
 * commit, which is flushed.
 */
export type WakeNotifier = {
  add(key: string): void;
  /** What a notification from any replica says: the keys to wake, or null for everything; own ones are skipped. */
  read(payload: string): string[] | null;
  /** It hears from now on: the others are to tell it, too. */
  greet(): void;
  /** How many listen, with this one; none when that cannot be seen. Whoever greets afterwards is heard. */
  listening(count: number): void;
  /** Sends what is collected. */
  stop(): Promise<void>;
};

export const WAKE_CHANNEL = "keelson_wakes";

/** PostgreSQL takes 8,000 bytes; keys are ASCII. */
const MAX_PAYLOAD_BYTES = 7_900;
const EVERYTHING = "*";
/** Nobody waits for it: that somebody sends it says all. */
const GREETING = "here";

export type WakeNotifierOptions = {
  /** Distinguishes this replica's own notifications. */
  replicaId: string;
  intervalMs: number;
  notify(channel: string, payload: string): Promise<void>;
  onError(error: unknown): void;
};

export function createWakeNotifier(options: WakeNotifierOptions): WakeNotifier {
  const keys = new Set<string>();
  /** Until it is seen that nobody else is there. */
  let isAlone = false;
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

  const add = (key: string): void => {
    keys.add(key);
    timer ??= setTimeout(() => {
      sending = sending.then(send);
    }, options.intervalMs);
  };

  return {
    add: (key) => {
      if (!isAlone) add(key);
    },
    greet: () => add(GREETING),
    listening: (count) => {
      isAlone = count === 1;
    },
    read: (payload) => {
      const [replicaId, ...woken] = payload.split(" ");
      if (replicaId === options.replicaId) return [];
      isAlone = false;
      return woken[0] === EVERYTHING ? null : woken;
    },
    stop: async () => {
      clearTimeout(timer);
      await (sending = sending.then(send));
    },
  };
}
