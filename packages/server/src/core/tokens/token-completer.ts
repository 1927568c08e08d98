import { createBatcher, type BatchOutcome } from "../../db/batcher.ts";
import { inParts, succeeded } from "../../db/batch-parts.ts";
import { isConnectionError, isStatementTimeout } from "../../db/connection-error.ts";
import type { Database } from "../../db/pool.ts";
import type { Clock } from "../../clock.ts";
import { notFound } from "../../domain-error.ts";
import { completeTokens, type CompletionOutcome, type TokenToComplete } from "./complete-tokens.ts";

export type CompleterContext = { db: Database; clock: Clock };

/** Completes tokens; concurrent calls share a transaction. Resolves when the completion is durable. */
export type TokenCompleter = {
  /** @throws DomainError `not_found` */
  complete(request: TokenToComplete): Promise<CompletionOutcome>;
  pending(): number;
};

type Outcome = BatchOutcome<CompletionOutcome | null>;

const MAX_BATCH = 100;
const MAX_IN_FLIGHT = 2;

export function createTokenCompleter(context: CompleterContext): TokenCompleter {
  const batcher = createBatcher<TokenToComplete, CompletionOutcome | null>({
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    groupOf: ({ environmentId }) => environmentId,
    run: (batch) =>
      inParts(
        batch,
        ({ data }) => data.text.length,
        (part) => completePart(context, part),
      ),
  });
  return {
    complete: async (request) => {
      const outcome = await batcher.submit(request);
      if (outcome === null) throw notFound();
      return outcome;
    },
    pending: () => batcher.pending(),
  };
}

/**
 * What fails together is tried one by one: a completion that cannot be done does not stop the others. Not after a lost
 * connection: the transaction may have been committed, and nobody would be told that theirs was the first completion.
 */
async function completePart(context: CompleterContext, part: readonly TokenToComplete[]): Promise<Outcome[]> {
  try {
    const outcomes = await context.db.transaction(async (tx) => {
      const done = await completeTokens(tx, part, context.clock());
      for (const [index, outcome] of done.entries())
        if (outcome?.status === "completed") await part[index]?.record?.(tx);
      return done;
    });
    return outcomes.map(succeeded);
  } catch (error) {
    if (part.length === 1 || isConnectionError(error) || isStatementTimeout(error)) throw error;
    return inParts(
      part,
      () => Number.POSITIVE_INFINITY,
      (one) => completePart(context, one),
    );
  }
}
