/**
 * When this server was last asked to change something. What it looks for by itself comes from such requests, its own or those of
 * another server, which looks for it too, or with time. So a server that nobody asks anything need not look as often.
 */
export type LastAsked = {
  /** Something was changed: to be called when the change is durable. */
  note(): void;
  /** Of `performance.now()`; minus infinity: never. */
  at(): number;
};

export function createLastAsked(): LastAsked {
  let at = Number.NEGATIVE_INFINITY;
  return {
    note: () => {
      at = performance.now();
    },
    at: () => at,
  };
}
