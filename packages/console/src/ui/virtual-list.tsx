import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useRef, type ReactNode, type RefObject } from "react";
import { cx } from "./class-names.ts";

type RowVirtualizer = Virtualizer<HTMLDivElement, HTMLLIElement>;
type RowOptions = Parameters<typeof useVirtualizer<HTMLDivElement, HTMLLIElement>>[0];

export type VirtualRows<Row> = {
  rows: readonly Row[];
  virtualizer: RowVirtualizer;
  /** What scrolls. */
  frame: RefObject<HTMLDivElement | null>;
  /** All rows, as high as all of them together. */
  content: RefObject<HTMLOListElement | null>;
};

/** Rows of any number for a `VirtualList`. Their heights are measured once they are in sight. */
export function useVirtualRows<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  estimatedPx: number,
  options: Partial<RowOptions> = {},
): VirtualRows<Row> {
  const frame = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLOListElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- what it returns is given on as it is, and read at every render
  const virtualizer = useVirtualizer<HTMLDivElement, HTMLLIElement>({
    count: rows.length,
    getScrollElement: () => frame.current,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
    estimateSize: () => estimatedPx,
    ...options,
  });
  return { rows, virtualizer, frame, content };
}

/** A list that scrolls, of which only the rows in sight are laid out. */
export function VirtualList<Row>({
  label,
  list: { rows, virtualizer, frame, content },
  className,
  rowClassName,
  before,
  onScroll,
  children,
}: {
  label: string;
  list: VirtualRows<Row>;
  className?: string;
  rowClassName?: string;
  /** Scrolls with the rows, above the first. */
  before?: ReactNode;
  onScroll?: () => void;
  children: (row: Row) => ReactNode;
}): ReactNode {
  return (
    <div
      ref={frame}
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={onScroll}
      className={cx("min-h-0 flex-1", className)}
    >
      {before}
      <ol ref={content} className="relative" style={{ height: virtualizer.getTotalSize() }}>
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
              className={cx("absolute inset-x-0 top-0", rowClassName)}
              style={{ transform: `translateY(${start}px)` }}
            >
              {children(row)}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
