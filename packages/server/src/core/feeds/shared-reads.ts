/**
 * Concurrent identical reads share one: a thousand followers at the tip of a feed, woken by the same append, ask for the
 * same page and get the same buffers. A read is shared only until it is answered, so nobody gets a page from before
 * their own wake.
 */
export function createSharedReads<Result>(): (key: string, read: () => Promise<Result>) => Promise<Result> {
  const underway = new Map<string, { next: Promise<Result> | null; now: Promise<Result> }>();
  return (key, read) => {
    const entry = underway.get(key);
    if (entry === undefined) {
      const now = read();
      const own: { next: Promise<Result> | null; now: Promise<Result> } = { next: null, now };
      underway.set(key, own);
      const settle = (): void => {
        if (own.next === null) underway.delete(key);
      };
      void now.then(settle, settle);
      return now;
    }
    // A read under way may have begun before this caller's wake; all who come during it share the one after it.
    entry.next ??= entry.now.then(
      () => read(),
      () => read(),
    );
    const next = entry.next;
    const done = (): void => {
      if (underway.get(key)?.next === next) underway.delete(key);
    };
    void next.then(done, done);
    return next;
  };
}
