import type { CSSProperties, ReactNode } from "react";
import type { AnsiColor, AnsiSpan, AnsiStyle } from "./ansi.ts";
import type { AnsiLine } from "./ansi-lines.ts";
import { readableColors, textOn, toCssColor } from "./readable-color.ts";

/** Black, red, green, yellow, blue, magenta, cyan and white, then the bright ones, as colours of the console. */
const PALETTE = [
  ...["text", "bad", "good", "warn", "info", "code-keyword", "accent", "text"],
  ...["quiet", "bad", "good", "warn", "info", "code-keyword", "accent", "text"],
].map((name) => `var(--color-${name})`);

const GROUNDS = [
  ...[
    "raised",
    "bad-ground",
    "good-ground",
    "warn-ground",
    "info-ground",
    "raised",
    "accent-ground",
    "raised",
  ],
  ...["line", "bad-ground", "good-ground", "warn-ground", "info-ground", "raised", "accent-ground", "raised"],
].map((name) => `var(--color-${name})`);

function textColor(color: AnsiColor): string {
  if ("index" in color) return PALETTE[color.index] ?? "inherit";
  const { onLight, onDark } = readableColors(color.rgb);
  return `light-dark(${toCssColor(onLight)}, ${toCssColor(onDark)})`;
}

/** What a colour of a program would make unreadable is shown in one that is read. */
function colorsOf({ color, background, isInverse, isDim }: AnsiStyle): CSSProperties {
  if (isInverse && background === null)
    return { color: "var(--color-ground)", background: "var(--color-text)" };
  if (background !== null) {
    if ("rgb" in background)
      return { color: toCssColor(textOn(background.rgb)), background: toCssColor(background.rgb) };
    return { color: "var(--color-text)", background: GROUNDS[background.index] };
  }
  if (color !== null) return { color: textColor(color) };
  return isDim ? { color: "var(--color-quiet)" } : {};
}

function styleOf(style: AnsiStyle): CSSProperties {
  const lines = [style.isUnderlined && "underline", style.isStruck && "line-through"]
    .filter(Boolean)
    .join(" ");
  return {
    ...colorsOf(style),
    ...(style.isBold && { fontWeight: 600 }),
    ...(style.isItalic && { fontStyle: "italic" }),
    ...(lines !== "" && { textDecoration: lines }),
  };
}

/** A line of output in its colours, as text and nothing else. */
export const AnsiText = ({ line }: { line: AnsiLine }): ReactNode =>
  line.map(({ text, style }: AnsiSpan, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- pieces of a line, which are only added to
    <span key={index} style={styleOf(style)}>
      {text}
    </span>
  ));
