import { ArrowDown } from "lucide-react";
import {
  useCallback,
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
} from "react";
import { Button } from "../../ui/button.tsx";
import type { LineStore } from "./line-store.ts";
import type { LogLayout } from "./log-layout.ts";
import { LogRow, ROW_PX } from "./log-row.tsx";
import {
  elementHeight,
  MAX_ELEMENT_PX,
  toContentTop,
  toElementTop,
  type ScaledScroll,
} from "./scaled-scroll.ts";

const OVERSCAN = 8;
/** After so long without a move, the bar is put where the content is. */
const SETTLE_MS = 250;

export type LogPlace = {
  /** Brings a line into the middle of the view, and stops following. */
  show: (line: number) => void;
  /** The first line that is seen. */
  firstSeen: () => number;
};

type LogRowsProps = {
  store: LineStore;
  layout: LogLayout;
  columns: number | null;
  wanted: string;
  currentLine: number | null;
  hasTimes: boolean;
  isLive: boolean;
  isFollowing: boolean;
  onFollowing: (isFollowing: boolean) => void;
  place: RefObject<LogPlace | null>;
  onWidth: (px: number) => void;
};

/** The rows in sight, of any number of them. */
export function LogRows(props: LogRowsProps): ReactNode {
  const { store, layout, columns, wanted, currentLine, hasTimes, isLive, isFollowing, onFollowing } = props;
  const { place } = props;
  const contentPx = layout.rowCount * ROW_PX;
  const droppedPx = layout.droppedRows * ROW_PX;
  const { scroller, viewPx, shownTop, shownElementTop, onScroll, goTo } = useLogScroll(
    { contentPx, droppedPx },
    props,
  );
  useImperativeHandle(place, () => ({
    show: (line) => goTo(layout.rowOf(line) * ROW_PX - viewPx / 2),
    firstSeen: () => (layout.rowCount === 0 ? store.first : layout.at(Math.floor(shownTop / ROW_PX)).line),
  }));
  const from = Math.max(0, Math.floor(shownTop / ROW_PX) - OVERSCAN);
  const to = Math.min(layout.rowCount, Math.ceil((shownTop + viewPx) / ROW_PX) + OVERSCAN);
  const rows: ReactNode[] = [];
  for (let row = from; row < to; row += 1) {
    const { line, part } = layout.at(row);
    rows.push(
      <LogRow
        key={row}
        text={store.textOf(line)}
        style={store.styleOf(line)}
        stream={store.streamOf(line)}
        atMs={hasTimes ? store.atMsOf(line) : null}
        from={columns === null ? null : part * columns}
        columns={columns}
        wanted={wanted}
        isCurrent={line === currentLine}
      />,
    );
  }
  const offset = shownElementTop + from * ROW_PX - shownTop;
  return (
    <div className="relative min-h-60 flex-1">
      <div
        ref={scroller}
        role="region"
        aria-label="Log"
        tabIndex={0}
        data-rows={layout.rowCount}
        className="absolute inset-0 overflow-auto rounded-lg border border-line bg-surface font-mono text-xs leading-[18px] outline-offset-[-2px] [overflow-anchor:none]"
        onScroll={onScroll}
      >
        <div className="relative min-w-full" style={{ height: elementHeight({ contentPx, viewPx }) }}>
          <div className="absolute left-0 min-w-full px-1" style={{ top: offset }}>
            {rows}
          </div>
        </div>
      </div>
      {isLive && !isFollowing && <ResumeButton onClick={() => onFollowing(true)} />}
    </div>
  );
}

function ResumeButton({ onClick }: { onClick: () => void }): ReactNode {
  return (
    <div className="pointer-events-none absolute inset-x-0 bottom-4 flex justify-center">
      <Button
        kind="primary"
        icon={<ArrowDown size={14} aria-hidden />}
        className="pointer-events-auto shadow"
        onClick={onClick}
      >
        Resume following
      </Button>
    </div>
  );
}

type LogScroll = {
  scroller: RefObject<HTMLDivElement | null>;
  viewPx: number;
  /** Where the content is. */
  shownTop: number;
  /** Where the element is: its rows stand there, wherever the content is by its share. */
  shownElementTop: number;
  onScroll: () => void;
  goTo: (top: number) => void;
};

/**
 * Scrolls a content of any height, and keeps its end in sight while it is followed, or else what is read, also when
 * something before it goes away: `droppedPx` did so far.
 */
function useLogScroll(
  { contentPx, droppedPx }: { contentPx: number; droppedPx: number },
  { isFollowing, onFollowing, onWidth }: Pick<LogRowsProps, "isFollowing" | "onFollowing" | "onWidth">,
): LogScroll {
  const scroller = useRef<HTMLDivElement>(null);
  const viewPx = useViewHeight(scroller, onWidth);
  /** `top` is of all that ever was there. */
  const [position, setPosition] = useState({ top: 0, elementTop: 0 });
  const scroll: ScaledScroll = { contentPx, viewPx };
  const lastTop = Math.max(0, contentPx - viewPx);
  const shownTop = isFollowing ? lastTop : Math.max(0, Math.min(position.top - droppedPx, lastTop));
  /** Where the element was put, or found, last. */
  const elementTop = useRef(0);
  const put = useCallback((next: number): void => {
    if (scroller.current === null) return;
    scroller.current.scrollTop = next;
    elementTop.current = scroller.current.scrollTop;
  }, []);
  useLayoutEffect(() => {
    if (isFollowing) put(toElementTop({ contentPx, viewPx }, contentPx));
  }, [isFollowing, contentPx, viewPx, put]);
  useEffect(() => {
    if (contentPx <= MAX_ELEMENT_PX) return undefined;
    const settle = (): void => {
      put(toElementTop({ contentPx, viewPx }, shownTop));
      setPosition({ top: shownTop + droppedPx, elementTop: elementTop.current });
    };
    const timer = setTimeout(settle, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [contentPx, droppedPx, viewPx, shownTop, put]);
  const stay = useEffectEvent(() => {
    if (contentPx <= MAX_ELEMENT_PX) put(shownTop);
  });
  useLayoutEffect(() => {
    if (droppedPx > 0) stay();
  }, [droppedPx]);
  const isScaled = contentPx > MAX_ELEMENT_PX && !isFollowing;
  return {
    scroller,
    viewPx,
    shownTop,
    shownElementTop: isScaled ? position.elementTop : toElementTop(scroll, shownTop),
    onScroll: () => {
      const now = scroller.current?.scrollTop ?? 0;
      if (now === elementTop.current) return;
      const next = toContentTop(scroll, {
        top: shownTop,
        elementBefore: elementTop.current,
        elementTop: now,
      });
      elementTop.current = now;
      setPosition({ top: next + droppedPx, elementTop: now });
      // A log that has ended has nothing to follow, but its end is where one may stay.
      const isAtEnd = next >= lastTop - ROW_PX;
      if (isAtEnd !== isFollowing) onFollowing(isAtEnd);
    },
    goTo: (wanted) => {
      const top = Math.max(0, Math.min(wanted, lastTop));
      put(toElementTop(scroll, top));
      onFollowing(false);
      setPosition({ top: top + droppedPx, elementTop: elementTop.current });
    },
  };
}

function useViewHeight(scroller: RefObject<HTMLDivElement | null>, onWidth: (px: number) => void): number {
  const [viewPx, setViewPx] = useState(400);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const measure = (): void => {
      setViewPx(element.clientHeight);
      onWidth(element.clientWidth);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, onWidth]);
  return viewPx;
}
