import type { ReactNode } from "react";
import { CopyButton } from "../../../ui/copy-button.tsx";
import { visibleLine } from "../../../ui/visible-text.ts";
import type { StackLine } from "../read-stack.ts";
import { foldStack, partsOfFrame } from "./fold-stack.ts";

/** The stack of an error: the frames of the run's own code, with file and line, before all others. */
export function StackView({ stack }: { stack: string }): ReactNode {
  return (
    <div className="relative rounded-md border border-line bg-surface text-text">
      <div className="absolute top-1 right-1">
        <CopyButton text={stack} label="Copy the stack" />
      </div>
      <div
        tabIndex={0}
        role="region"
        aria-label="Stack"
        className="max-h-60 overflow-auto p-3 pr-10 font-mono text-xs whitespace-pre focus-visible:outline-offset-[-2px]"
      >
        {foldStack(stack).map(({ isFolded, lines }, index) =>
          isFolded ? (
            // oxlint-disable-next-line react/no-array-index-key -- parts of a text that never changes
            <details key={index}>
              <summary className="text-quiet focus-visible:outline-offset-[-2px]">
                {lines.length} more of Node.js and packages
              </summary>
              <Lines lines={lines} />
            </details>
          ) : (
            // oxlint-disable-next-line react/no-array-index-key -- parts of a text that never changes
            <Lines key={index} lines={lines} />
          ),
        )}
      </div>
    </div>
  );
}

const Lines = ({ lines }: { lines: readonly StackLine[] }): ReactNode =>
  lines.map((line, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- lines of a text that never changes
    <div key={index} data-own={line.isOwn || undefined} className={line.isOwn ? "text-text" : "text-quiet"}>
      <Line line={line} />
    </div>
  ));

function Line({ line: { text, isOwn } }: { line: StackLine }): ReactNode {
  const parts = isOwn ? partsOfFrame(text) : null;
  if (parts === null) return visibleLine(text) || " ";
  const [before, place, after] = parts.map(visibleLine);
  return (
    <>
      {before}
      <strong className="font-semibold text-accent">{place}</strong>
      {after}
    </>
  );
}
