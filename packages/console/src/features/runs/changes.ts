/** Tells a component that a store it reads changed: what `useSyncExternalStore` takes. */
export type Changes = {
  readonly subscribe: (listener: () => void) => () => void;
  /** Another number after every change. */
  readonly version: () => number;
};

export function createChanges(): Changes & { changed: () => void } {
  let version = 0;
  const listeners = new Set<() => void>();
  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    version: () => version,
    changed: () => {
      version += 1;
      for (const listener of listeners) listener();
    },
  };
}
