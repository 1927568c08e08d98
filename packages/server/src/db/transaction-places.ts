// No transaction uses a second connection: one that waits for another connection while it holds its own stops the whole
// pool as soon as there are as many of them as connections. Tests prove it by having such a use refused, with its place.

import { AsyncLocalStorage } from "node:async_hooks";

export interface TransactionPlaces {
  /** Runs the work of a transaction. */
  within<Result>(work: () => Promise<Result>): Promise<Result>;
  /** @throws Error when it is called by the work of a transaction that is open. */
  refuseInside(): void;
}

/** For production: what is not covered by a test may wait for a connection rather than fail. */
export const UNCHECKED_PLACES: TransactionPlaces = {
  within: (work) => work(),
  refuseInside: () => undefined,
};

export function createCheckedPlaces(): TransactionPlaces {
  const open = new AsyncLocalStorage<{ isOpen: boolean; begun: Error }>();
  return {
    within: async (work) => {
      const place = { isOpen: true, begun: new Error("It began here.") };
      try {
        return await open.run(place, work);
      } finally {
        place.isOpen = false;
      }
    },
    refuseInside: () => {
      const place = open.getStore();
      if (place?.isOpen !== true) return;
      throw new SecondConnectionError(place.begun);
    },
  };
}

/** A transaction asked for a second connection. Its stack names the place; its cause is where the transaction began. */
export class SecondConnectionError extends Error {
  override readonly name = "SecondConnectionError";

  constructor(begun: Error) {
    super(
      "A transaction asked for a second connection: run the statement on the transaction, or before or after it.",
      { cause: begun },
    );
  }
}
