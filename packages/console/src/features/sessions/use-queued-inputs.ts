import type { Session, Stream, StreamRecord } from "@keelson/contract";
import { useQueries } from "@tanstack/react-query";
import { useCallback } from "react";
import { get, send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { at } from "../../api/route.ts";
import { listSessionInputs, withdrawSessionInput } from "../../api/routes/streams.ts";
import { useAction } from "../../api/use-action.ts";
import type { Conversation } from "./conversation.ts";

const REFETCH_MS = 2000;
/** Of each stream, the oldest ones: those that are received next. */
const LIMIT = 200;

export type QueuedInputs = {
  /** The ids of the records that no run has received. */
  ids: ReadonlySet<string>;
  withdraw: (record: StreamRecord) => void;
};

/** Input that waits for a run to receive it, and how to take it back. */
export function useQueuedInputs(
  session: Session,
  streams: readonly Stream[],
  conversation: Conversation,
): QueuedInputs {
  const place = usePlace();
  const inputs = streams.filter(({ direction, last_sequence: last }) => direction === "input" && last > 0);
  const ids = useQueries({
    queries: inputs.map(({ name }) => {
      const route = at(listSessionInputs, { id: session.id, stream: name });
      const query = { received: "false", limit: LIMIT } as const;
      return {
        queryKey: ["e", place.environment_id, route.path, query],
        queryFn: ({ signal }: { signal: AbortSignal }) => get(route, { ...place, ...query }, signal),
        refetchInterval: REFETCH_MS,
      };
    }),
    combine: idsOf,
  });
  const { mutate } = useAction<StreamRecord, StreamRecord>(
    (own, { stream, sequence }) =>
      send(at(withdrawSessionInput, { id: session.id, stream, sequence: String(sequence) }), { query: own }),
    { done: "Withdrew the input", onDone: (record) => conversation.replace(record) },
  );
  const withdraw = useCallback((record: StreamRecord) => mutate(record), [mutate]);
  return { ids, withdraw };
}

const idsOf = (
  results: readonly { data: { records: readonly StreamRecord[] } | undefined }[],
): ReadonlySet<string> => new Set(results.flatMap(({ data }) => (data?.records ?? []).map(({ id }) => id)));
