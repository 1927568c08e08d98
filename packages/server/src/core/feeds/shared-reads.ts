/**
 * Concurrent identical reads share one: a thousand followers at the tip of a feed, woken by the same append, ask for the
 * same page and get the same buffers. A read is shared only until it is answered, so nobody gets a page from before
 * their own wake.
 */
export function createSharedReads<Result>(): (key: string, read: () => Promise<Result>) => Promise<Result> {
  const underway = new Map<string, Shared<Result>>();

  const start = (key: string, read: () => Promise<Result>): Promise<Result> => {
    const shared: Shared<Result> = { now: read(), next: null };
    underway.set(key, shared);
    const settle = (): void => {
      if (shared.next === null) underway.delete(key);
    };
    shared.now.then(settle, settle);
    return shared.now;
  };

  return (key, read) => {
    const shared = underway.get(key);
    if (shared === undefined) return start(key, read);
    // A read under way may have begun before this caller's wake; all who come during it share the one after it.
    const again = (): Promise<Result> => start(key, read);
    shared.next ??= shared.now.then(again, again);
    return shared.next;
  };
}

type Shared<Result> = { now: Promise<Result>; next: Promise<Result> | null };
