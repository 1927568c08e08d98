import { useMemo, type ReactNode } from "react";
import { CodeLines } from "../../../ui/code-lines.tsx";
import { visibleLine } from "../../../ui/visible-text.ts";
import type { Token, TokenKind } from "./highlight-lines.ts";

/** Of a longer line the beginning is shown: laying out a megabyte in one line stops the browser. */
export const MAX_LINE_CHARACTERS = 5000;

const CLASSES: Record<TokenKind, string> = {
  keyword: "text-code-keyword",
  string: "text-code-string",
  number: "text-code-number",
  name: "text-code-name",
  comment: "text-code-comment italic",
};

/** A text with the numbers of its lines, in colours where they are known. */
export function TextLines({
  label,
  text,
  tokens,
  className,
}: {
  label: string;
  text: string;
  tokens: Token[][] | null;
  className?: string;
}): ReactNode {
  const lines = useMemo(() => linesOf(text), [text]);
  const width = useMemo(() => lines.reduce((most, line) => Math.max(most, line.length), 0), [lines]);
  return (
    <CodeLines
      label={label}
      count={lines.length}
      width={Math.min(width, MAX_LINE_CHARACTERS + 40)}
      gutterClass="w-14"
      {...(className !== undefined && { className })}
      renderLine={(index) => {
        const line = lines[index] ?? "";
        return {
          gutter: index + 1,
          length: line.length,
          content: <LineText text={line} tokens={tokens?.[index] ?? null} />,
        };
      }}
    />
  );
}

/** A last line that is empty is none: the one before it has ended. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  return lines;
}

export function LineText({ text, tokens }: { text: string; tokens: readonly Token[] | null }): ReactNode {
  if (text.length > MAX_LINE_CHARACTERS)
    return (
      <>
        {visibleLine(text.slice(0, MAX_LINE_CHARACTERS))}
        <span className="text-quiet">
          {" "}
          … {(text.length - MAX_LINE_CHARACTERS).toLocaleString("en")} more characters
        </span>
      </>
    );
  // A carriage return before the line feed is how the line ends, and no part of it.
  const shown = text.endsWith("\r") ? text.slice(0, -1) : text;
  if (tokens === null) return visibleLine(shown);
  return tokens.map(([kind, piece], index) => (
    // oxlint-disable-next-line react/no-array-index-key -- pieces of a text that does not change
    <span key={index} className={kind === null ? undefined : CLASSES[kind]}>
      {visibleLine(index === tokens.length - 1 && piece.endsWith("\r") ? piece.slice(0, -1) : piece)}
    </span>
  ));
}
