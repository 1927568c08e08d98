import { createAnsiParser, PLAIN, type AnsiSpan, type AnsiStyle } from "../../ui/ansi.ts";
import { visibleLine } from "../../ui/visible-text.ts";

/** More marks than these on one character are a tower over other lines. */
const MARKS = /(\p{M}{4})\p{M}+/gu;
const NEEDS_WORK = /[^\u0020-\u007e]/;
const TAB_STOP = 8;

const expandTabs = (text: string): string => {
  if (!text.includes("\t")) return text;
  let shown = "";
  for (const part of text.split(/(\t)/))
    shown += part === "\t" ? " ".repeat(TAB_STOP - (shown.length % TAB_STOP)) : part;
  return shown;
};

const shownText = (text: string): string => text.replace(MARKS, "$1\u2026");

/** A line's pieces as they are shown. The line begins in `style`, which is used where the line has none of its own. */
export function spansOf(line: string, style: AnsiStyle): AnsiSpan[] {
  if (!NEEDS_WORK.test(line)) return line === "" ? [] : [{ text: line, style }];
  if (!line.includes("\u001b")) return [{ text: shownText(expandTabs(visibleLine(line))), style }];
  const parser = createAnsiParser(style);
  const spans = [...parser.push(line), ...parser.end()];
  return spans.map((span) => ({ ...span, text: shownText(expandTabs(span.text)) }));
}

/** A line's text as it is shown: what is searched, and what its width is counted by. */
export function plainText(line: string): string {
  if (!NEEDS_WORK.test(line)) return line;
  let text = "";
  for (const span of spansOf(line, PLAIN)) text += span.text;
  return text;
}
