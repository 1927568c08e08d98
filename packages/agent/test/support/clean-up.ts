/** A test, or its file. */
export interface Owner {
  after(end: () => Promise<void>): void;
}

const ends = new WeakMap<Owner, (() => unknown)[]>();

/**
 * Has this done when the test, or the file, is over: what was asked for last is done first, so that an agent is stopped before its
 * folder is removed, and all of it is done, whatever fails. `t.after` does the first first, and stops at an error.
 */
export function cleanUp(t: Owner, end: () => unknown): void {
  const known = ends.get(t);
  if (known !== undefined) return void known.push(end);
  const all = [end];
  ends.set(t, all);
  t.after(async () => {
    const errors: unknown[] = [];
    for (const one of all.toReversed())
      try {
        await one();
      } catch (error) {
        errors.push(error);
      }
    if (errors.length > 0)
      throw errors.length === 1 ? errors[0] : new AggregateError(errors, "Cleaning up failed.");
  });
}
