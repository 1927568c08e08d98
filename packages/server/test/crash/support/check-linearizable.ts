// Decides whether a recorded history of calls could have happened one call at a time.
// Source: Wing and Gong, "Testing and Verifying Concurrent Objects" (1993), with Lowe's memory of what was tried.

/** One call as its caller saw it. Times are of one clock. */
export interface Call<Input, Output> {
  readonly input: Input;
  /** Null: the answer was lost. The call took effect once at any time after its beginning, or never. */
  readonly output: Output | null;
  readonly invokedAt: number;
  /** `Infinity` when the answer was lost. */
  readonly returnedAt: number;
}

/** What a call does to the object: the state after it, or `impossible` when it cannot have had that output. */
export type Step<State, Input, Output> = (
  state: State,
  input: Input,
  output: Output | null,
) => { state: State } | "impossible";

export interface Verdict {
  readonly isLinearizable: boolean;
  /** How many steps were tried. */
  readonly steps: number;
}

/** States are compared by `===`. */
export function checkLinearizable<State extends string | null, Input, Output>(
  history: readonly Call<Input, Output>[],
  initial: State,
  step: Step<State, Input, Output>,
): Verdict {
  const answered = history.reduce(
    (mask, call, index) => (call.output === null ? mask : mask | (1n << BigInt(index))),
    0n,
  );
  const tried = new Set<string>();
  let steps = 0;

  /** What can come next: no other call was answered before it began. */
  const candidates = (done: bigint): number[] => {
    const open = history.map((_, index) => index).filter((index) => (done & (1n << BigInt(index))) === 0n);
    const firstReturn = Math.min(...open.map((index) => (history[index] as Call<Input, Output>).returnedAt));
    return open.filter((index) => (history[index] as Call<Input, Output>).invokedAt <= firstReturn);
  };

  const search = (done: bigint, state: State): boolean => {
    if ((done & answered) === answered) return true;
    const key = `${done} ${state}`;
    if (tried.has(key)) return false;
    tried.add(key);
    const next: [number, State][] = [];
    for (const index of candidates(done)) {
      const { input, output } = history[index] as Call<Input, Output>;
      steps += 1;
      const result = step(state, input, output);
      if (result === "impossible") continue;
      if (result.state !== state) next.push([index, result.state]);
      // An answered call that changes nothing can be put here without loss: what can follow it can follow it here. A lost
      // one that changes nothing need not have happened.
      else if (output !== null) return search(done | (1n << BigInt(index)), state);
    }
    return next.some(([index, after]) => search(done | (1n << BigInt(index)), after));
  };

  return { isLinearizable: search(0n, initial), steps };
}
