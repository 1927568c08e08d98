import { memo, type ReactNode } from "react";
import type { AnsiSpan, AnsiStyle } from "../../ui/ansi.ts";
import { cx } from "../../ui/class-names.ts";
import { absoluteTime } from "../../ui/time.tsx";
import { toCss } from "./ansi-style.ts";
import type { LogStream } from "./line-store.ts";
import { markSpans, sliceSpans } from "./mark-spans.ts";
import { spansOf } from "./plain-text.ts";

export const ROW_PX = 18;

type LogRowProps = {
  text: string;
  style: AnsiStyle;
  stream: LogStream;
  /** Null: not shown. */
  atMs: number | null;
  /** Which characters of the line stand in this row. Null: all. */
  from: number | null;
  columns: number | null;
  wanted: string;
  isCurrent: boolean;
};

const clock = (atMs: number): string => new Date(atMs).toISOString().slice(11, 23);

/** Text nodes in elements without meaning: nothing in a line can be more than text. */
export const LogRow = memo(function LogRow(props: LogRowProps): ReactNode {
  const { text, style, stream, atMs, from, columns, wanted, isCurrent } = props;
  const marked = markSpans(spansOf(text, style), wanted);
  const spans = from === null || columns === null ? marked : sliceSpans(marked, from, from + columns);
  const isFirst = from === null || from === 0;
  return (
    <div
      data-log-row
      className={cx(
        "flex overflow-hidden whitespace-pre [contain:paint]",
        isCurrent && "bg-accent-ground",
        stream === "stderr" && "border-l-2 border-bad",
        stream === "stdout" && "border-l-2 border-transparent",
      )}
      style={{ height: ROW_PX }}
    >
      {atMs !== null && (
        <span className="w-[13ch] shrink-0 text-quiet" title={absoluteTime(new Date(atMs).toISOString())}>
          {isFirst ? clock(atMs) : ""}
        </span>
      )}
      <span className="w-[4ch] shrink-0 text-quiet select-none" aria-hidden={stream === "stdout"}>
        {isFirst && stream === "stderr" ? "err" : ""}
      </span>
      <span dir="ltr" className="[unicode-bidi:isolate]">
        {spans.map((span, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- pieces of one text have no other name
          <Piece key={index} span={span} />
        ))}
      </span>
    </div>
  );
});

function Piece({ span }: { span: AnsiSpan & { isMatch?: boolean } }): ReactNode {
  if (span.isMatch === true) return <mark className="bg-warn-ground text-warn">{span.text}</mark>;
  return <span style={toCss(span.style)}>{span.text}</span>;
}
