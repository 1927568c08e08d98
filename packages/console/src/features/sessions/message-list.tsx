import type { Stream } from "@keelson/contract";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useRef, useState, type ReactNode, type RefObject } from "react";
import { Button } from "../../ui/button.tsx";
import type { ConversationView } from "./conversation.ts";
import { Earlier } from "./earlier.tsx";
import type { Row } from "./join-records.ts";
import { MessageRow } from "./message-row.tsx";
import { END_PIXELS, useStayAtEnd } from "./use-stay-at-end.ts";

const ESTIMATED_HEIGHT = 64;

function useRowVirtualizer(
  rows: readonly Row[],
  scroller: RefObject<HTMLDivElement | null>,
): Virtualizer<HTMLDivElement, HTMLLIElement> {
  // oxlint-disable-next-line react/incompatible-library -- what it returns is given on as it is
  return useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATED_HEIGHT,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: END_PIXELS,
    useFlushSync: false,
  });
}

/** The rows, of which only those in sight are laid out. It follows the end unless one has scrolled up. */
export function MessageList({
  rows,
  view,
  streams,
  onReadEarlier,
  onCorrelation,
}: {
  rows: readonly Row[];
  view: ConversationView;
  streams: readonly Stream[];
  onReadEarlier: () => Promise<void>;
  onCorrelation: (correlationId: string) => void;
}): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLOListElement>(null);
  const [lit, setLit] = useState<string | null>(null);
  const virtualizer = useRowVirtualizer(rows, scroller);
  const onScroll = useStayAtEnd(scroller, content, () => virtualizer.scrollToEnd());
  const isAtEnd = rows.length === 0 || virtualizer.isAtEnd(END_PIXELS);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={scroller}
        role="region"
        aria-label="Conversation"
        tabIndex={0}
        onScroll={onScroll}
        className="min-h-0 flex-1 overflow-y-auto overscroll-contain px-3 py-2"
        style={{ overflowAnchor: "none" }}
      >
        <Earlier view={view} streams={streams} onRead={onReadEarlier} />
        <ol ref={content} className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <li
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                aria-posinset={index + 1}
                aria-setsize={rows.length}
                className="absolute top-0 left-0 w-full pb-2"
                style={{ transform: `translateY(${start}px)` }}
              >
                <MessageRow
                  row={row}
                  isLit={lit !== null && row.correlationId === lit}
                  onLight={setLit}
                  onCorrelation={onCorrelation}
                />
              </li>
            );
          })}
        </ol>
      </div>
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
