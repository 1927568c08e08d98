import type { OutputChunk } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { useFollow } from "../../../api/use-follow.ts";
import type { FollowRoute } from "../../../api/client.ts";
import { AnsiText } from "../../../ui/ansi-text.tsx";
import { CodeLines } from "../../../ui/code-lines.tsx";
import { describeBytes } from "../../../ui/describe-bytes.ts";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { createOutputReader } from "../output-reader.ts";
import { createAnsiLines, type AnsiLine } from "../../../ui/ansi-lines.ts";

/** Of an output; what stood before is in the server for as long as it keeps it. */
const MAX_LINES = 20_000;

type Shown = { lines: readonly AnsiLine[]; dropped: number };

/** What a command writes, live, in its colours; it scrolls along while its end is in sight. */
export function ExecOutput({
  label,
  route,
  isOver,
  bytes,
}: {
  label: string;
  route: FollowRoute;
  isOver: boolean;
  bytes: number;
}): ReactNode {
  const [reader] = useState(() => ({ ...createOutputReader(), lines: createAnsiLines(MAX_LINES) }));
  const [shown, setShown] = useState<Shown>(() => reader.lines.read());
  const [isCut, setIsCut] = useState(false);
  const follow = useFollow(route, {
    onEvents: (events) => {
      for (const { event, data } of events)
        if (event === "chunk") reader.lines.push(reader.text(data as OutputChunk));
        else if (event === "end") {
          reader.lines.push(reader.rest());
          reader.lines.end();
        }
      setShown(reader.lines.read());
    },
    onGap: () => setIsCut(true),
  });
  const isEmpty = shown.lines.length === 1 && shown.lines[0]?.length === 0;
  const width = shown.lines.reduce((most, line) => Math.max(most, lengthOf(line)), 0);
  return (
    <section aria-label={label} className="flex flex-col gap-1">
      <div className="flex items-baseline justify-between gap-2">
        <h2 className="text-sm font-medium">{label}</h2>
        <span className="text-xs text-quiet">{describeBytes(bytes)}</span>
      </div>
      {(isCut || shown.dropped > 0) && (
        <p className="text-xs text-quiet">The start of the output is not shown, because there is too much.</p>
      )}
      {follow.state === "failed" && <ErrorPanel error={follow.error} />}
      {isEmpty ? (
        <p className="rounded-md border border-line px-3 py-2 text-sm text-quiet">
          {isOver ? "It wrote nothing." : "Nothing yet."}
        </p>
      ) : (
        <CodeLines
          label={`Text of ${label.toLowerCase()}`}
          count={lastIsEmpty(shown.lines) ? shown.lines.length - 1 : shown.lines.length}
          width={width}
          followsEnd
          className="max-h-[28rem] rounded-md border border-line py-1"
          renderLine={(index) => {
            const line = shown.lines[index] ?? [];
            return { length: lengthOf(line), content: <AnsiText line={line} /> };
          }}
        />
      )}
    </section>
  );
}

const lengthOf = (line: AnsiLine): number => line.reduce((sum, { text }) => sum + text.length, 0);

const lastIsEmpty = (lines: readonly AnsiLine[]): boolean => lines.length > 1 && lines.at(-1)?.length === 0;
