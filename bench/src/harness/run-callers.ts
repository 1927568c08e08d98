/** Runs `call` from `callers` concurrent loops until the time is over; returns how many calls finished in it, a second. */
export async function runCallers(
  callers: number,
  durationMs: number,
  call: (caller: number) => Promise<void>,
): Promise<number> {
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  let finished = 0;
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      while (performance.now() < endsAt) {
        await call(caller);
        finished += 1;
      }
    }),
  );
  return (finished * 1000) / (performance.now() - startedAt);
}
