import type { Session, Stream } from "@keelson/contract";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useCallback, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { listSessionStreams } from "../../api/routes/sessions.ts";
import { definedFields } from "../../app/search-text.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Approvals } from "../tokens/approvals.tsx";
import { BeingWritten } from "./being-written.tsx";
import { Composer } from "./composer.tsx";
import { createConversation } from "./conversation.ts";
import { FilterBar, type ChangeSearch } from "./filter-bar.tsx";
import { MessageList } from "./message-list.tsx";
import { readEarlier, StreamReaders } from "./stream-reader.tsx";
import { useQueuedInputs } from "./use-queued-inputs.ts";

const NONE: readonly Stream[] = [];

/** All that was said in the session, what waits for a decision, and where one says more. */
export function ConversationPane({ session }: { session: Session }): ReactNode {
  const place = usePlace();
  const search = useSearch({ from: "/signed-in/e/$environmentId/sessions/$sessionId" });
  const navigate = useNavigate({ from: "/e/$environmentId/sessions/$sessionId" });
  const [conversation] = useState(createConversation);
  const view = useSyncExternalStore(conversation.subscribe, conversation.view);
  const listed = useItem(at(listSessionStreams, { id: session.id }), {
    query: { limit: 200 },
    refetchMs: 2000,
  });
  const streams = listed.data?.streams ?? NONE;
  const queued = useQueuedInputs(session, streams, conversation);
  const { correlation, stream } = search;
  const rows = useMemo(
    () =>
      correlation === undefined && stream === undefined
        ? view.rows
        : view.rows.filter(
            (row) =>
              (correlation === undefined || row.correlationId === correlation) &&
              (stream === undefined || row.stream === stream),
          ),
    [view, correlation, stream],
  );
  const change: ChangeSearch = useCallback(
    (changes) => void navigate({ search: (before) => definedFields({ ...before, ...changes }) }),
    [navigate],
  );
  const onCorrelation = useCallback((id: string) => change({ correlation: id }), [change]);

  return (
    <section
      aria-label="Conversation and input"
      className="flex min-h-0 flex-col overflow-hidden rounded-lg border border-line bg-ground max-lg:h-[calc(100dvh-12.5rem)] max-lg:min-h-96"
    >
      <StreamReaders session={session} streams={streams} conversation={conversation} />
      <FilterBar records={view.records} streams={streams} search={search} onChange={change} />
      {rows.length === 0 &&
      listed.data !== undefined &&
      streams.every(({ last_sequence: last }) => last === 0) ? (
        <div className="min-h-0 flex-1 p-4">
          <Empty title="No messages yet">Send the first input below.</Empty>
        </div>
      ) : (
        <MessageList
          rows={rows}
          view={view}
          streams={streams}
          queued={queued}
          onReadEarlier={() => readEarlier(place, session.id, streams, conversation)}
          onCorrelation={onCorrelation}
        />
      )}
      <BeingWritten session={session} />
      <Approvals session={session} />
      {session.status === "open" ? (
        <Composer session={session} streams={streams} rows={view.rows} />
      ) : (
        <Ended session={session} />
      )}
    </section>
  );
}

function Ended({ session }: { session: Session }): ReactNode {
  return (
    <div className="flex flex-wrap items-center justify-between gap-2 border-t border-line bg-surface p-3">
      <p className="text-quiet">The session is {session.status}: it takes no more input.</p>
      <Link
        to="/e/$environmentId/sessions"
        params={{ environmentId: session.environment_id }}
        search={{ start: session.actor ?? "" }}
        className={buttonClass()}
      >
        <Plus size={15} aria-hidden /> New session
      </Link>
    </div>
  );
}
