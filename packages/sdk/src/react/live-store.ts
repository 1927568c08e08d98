/** Whether what is shown is up to date: the server is being reached, it is live, nothing more will come, or it cannot go on. */
export type LiveStatus = "connecting" | "live" | "ended" | "failed";

type Live = { status: LiveStatus; error: unknown };

/** Nothing has come yet. */
export const BEGUN: Live = { status: "connecting", error: null };

/** A value that changes, as `useSyncExternalStore` of React takes it. */
export type LiveStore<T> = {
  subscribe(changed: () => void): () => void;
  read(): T;
};

/** Follows until it is over or the signal is aborted, and says what has changed. `is` makes what says that the status has. */
export type Follow<T> = (
  set: (changes: Partial<T>) => void,
  signal: AbortSignal,
  is: (status: LiveStatus) => () => void,
) => Promise<void>;

/**
 * Follows something while anybody subscribes. Who subscribes after the last one has left makes it begin again: in its strict mode, React does so
 * with each component.
 */
export function liveStore<T extends Live>(initial: T, follow: Follow<T>): LiveStore<T> {
  let value = initial;
  let following: AbortController | null = null;
  const listeners = new Set<() => void>();
  const begin = async (): Promise<void> => {
    const own = new AbortController();
    following = own;
    value = initial;
    const set = (changes: Partial<Live> | Partial<T>): void => {
      if (own.signal.aborted) return;
      value = { ...value, ...changes };
      for (const changed of listeners) changed();
    };
    try {
      await follow(set, own.signal, (status) => () => set({ status }));
      set({ status: "ended" });
    } catch (error) {
      set({ status: "failed", error });
    }
  };
  return {
    read: () => value,
    subscribe: (changed) => {
      // Two components may give one function.
      const listener = (): void => changed();
      listeners.add(listener);
      if (following === null) void begin();
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        following?.abort();
        following = null;
      };
    },
  };
}
