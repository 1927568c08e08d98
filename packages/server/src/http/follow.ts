import { DomainError } from "../domain-error.ts";
import type { RequestFacts } from "./route.ts";
import { sequenceCursor } from "./page.ts";

/** `follow=1`, or `Accept: text/event-stream`. */
export const wantsEventStream = (request: RequestFacts, follow: string | undefined): boolean =>
  follow === "1" || request.acceptsEventStream;

/** `Last-Event-ID` wins over `cursor`: it is what a reconnecting browser last received. */
export const followCursor = (request: RequestFacts, cursor: string | undefined): number =>
  sequenceCursor(request.lastEventId ?? cursor);

/** Counts the SSE connections of each environment. */
export type ConnectionLimit = { enter(environmentId: string): () => void };

export function createConnectionLimit(maximum: number): ConnectionLimit {
  const open = new Map<string, number>();
  return {
    enter: (environmentId) => {
      const count = open.get(environmentId) ?? 0;
      if (count >= maximum) {
        throw new DomainError(
          "rate_limited",
          `This environment has ${maximum} event streams open; close some first.`,
          { limit: maximum },
        );
      }
      open.set(environmentId, count + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const now = (open.get(environmentId) ?? 1) - 1;
        if (now === 0) open.delete(environmentId);
        else open.set(environmentId, now);
      };
    },
  };
}
