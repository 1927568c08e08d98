import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { cx } from "./class-names.ts";

const LINE_PX = 20;
/** As many are laid out at once, so that the browser's own search and selection find them all. */
const MAX_LAID_OUT = 1500;

export type CodeLine = {
  /** What stands before it, such as its number. */
  gutter?: ReactNode;
  content: ReactNode;
  /** Of characters, for how far the box scrolls to the side. */
  length: number;
  className?: string;
};

type CodeLinesProps = {
  label: string;
  count: number;
  /** Called for the lines that are seen. */
  renderLine: (index: number) => CodeLine;
  /** The longest line, in characters. */
  width: number;
  gutterClass?: string;
  className?: string;
  /** Its end stays in sight as it grows, unless somebody scrolled away from it. */
  followsEnd?: boolean;
};

/** Lines of code or output in a box of its own that scrolls; of many, those in sight are there. */
export function CodeLines(props: CodeLinesProps): ReactNode {
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const isAtEnd = useRef(true);
  const { label, count, width, className, followsEnd = false } = props;
  const isWhole = count <= MAX_LAID_OUT;
  useEffect(() => {
    if (count > 0 && followsEnd && isAtEnd.current) box?.scrollTo({ top: box.scrollHeight });
  }, [box, count, followsEnd]);
  return (
    <div
      ref={setBox}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 2 * LINE_PX;
      }}
      className={cx("min-h-0 overflow-auto bg-surface font-mono text-xs leading-5", className)}
    >
      <div dir="ltr" className="relative min-w-full" style={{ width: `calc(${width + 2}ch + 7rem)` }}>
        {isWhole
          ? Array.from({ length: count }, (_, index) => <Line key={index} {...props} index={index} />)
          : box !== null && <SeenLines {...props} box={box} />}
      </div>
    </div>
  );
}

function SeenLines({ box, ...props }: CodeLinesProps & { box: HTMLDivElement }): ReactNode {
  // oxlint-disable-next-line react/incompatible-library -- what it answers is used in this render alone
  const virtualizer = useVirtualizer({
    count: props.count,
    getScrollElement: () => box,
    estimateSize: () => LINE_PX,
    overscan: 30,
  });
  return (
    <div style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map(({ index, start }) => (
        <div key={index} className="absolute inset-x-0" style={{ top: start, height: LINE_PX }}>
          <Line {...props} index={index} />
        </div>
      ))}
    </div>
  );
}

function Line({ renderLine, index, gutterClass }: CodeLinesProps & { index: number }): ReactNode {
  const { gutter, content, className } = renderLine(index);
  return (
    <div className={cx("flex h-5 whitespace-pre", className)}>
      {gutter !== undefined && (
        <span aria-hidden className={cx("shrink-0 pr-3 text-right text-quiet select-none", gutterClass)}>
          {gutter}
        </span>
      )}
      <span className="pr-2 pl-2">
        {content}
        {"\n"}
      </span>
    </div>
  );
}
