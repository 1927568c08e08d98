/** Lets so many of those who ask go at a time, in the order they asked. */
export type Turns = { take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> };

export function createTurns(count: number): Turns {
  let free = count;
  const waiting: (() => void)[] = [];
  const pass = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return {
    take: async (work, signal) => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        signal.throwIfAborted();
        return await work();
      } finally {
        pass();
      }
    },
  };
}
