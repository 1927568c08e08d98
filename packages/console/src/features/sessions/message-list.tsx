import type { Stream } from "@keelson/contract";
import { ArrowDown } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { useVirtualRows, VirtualList } from "../../ui/virtual-list.tsx";
import type { ConversationView } from "./conversation.ts";
import { Earlier } from "./earlier.tsx";
import type { Row } from "./join-records.ts";
import { MessageRow } from "./message-row.tsx";
import type { QueuedInputs } from "./use-queued-inputs.ts";
import { END_PIXELS, useStayAtEnd } from "./use-stay-at-end.ts";

const ESTIMATED_HEIGHT = 64;

/** The rows, of which only those in sight are laid out. It follows the end unless one has scrolled up. */
export function MessageList({
  rows,
  view,
  streams,
  queued,
  onReadEarlier,
  onCorrelation,
}: {
  rows: readonly Row[];
  view: ConversationView;
  streams: readonly Stream[];
  queued: QueuedInputs;
  onReadEarlier: () => Promise<void>;
  onCorrelation: (correlationId: string) => void;
}): ReactNode {
  const [lit, setLit] = useState<string | null>(null);
  const list = useVirtualRows(rows, ({ key }) => key, ESTIMATED_HEIGHT, {
    overscan: 8,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: END_PIXELS,
    useFlushSync: false,
  });
  const { virtualizer } = list;
  const onScroll = useStayAtEnd(list.frame, list.content, () => virtualizer.scrollToEnd());
  const isAtEnd = rows.length === 0 || virtualizer.isAtEnd(END_PIXELS);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <VirtualList
        label="Conversation"
        list={list}
        className="overflow-y-auto overscroll-contain px-3 py-2 [overflow-anchor:none]"
        rowClassName="pb-2"
        before={<Earlier view={view} streams={streams} onRead={onReadEarlier} />}
        onScroll={onScroll}
      >
        {(row) => (
          <MessageRow
            row={row}
            isLit={lit !== null && row.correlationId === lit}
            isQueued={queued.ids.has(row.key) && row.first.withdrawn_at === undefined}
            onWithdraw={queued.withdraw}
            onLight={setLit}
            onCorrelation={onCorrelation}
          />
        )}
      </VirtualList>
      {!isAtEnd && (
        <Button
          className="absolute right-4 bottom-3 shadow-md"
          icon={<ArrowDown size={14} aria-hidden />}
          onClick={() => virtualizer.scrollToEnd()}
        >
          To the newest
        </Button>
      )}
    </div>
  );
}
