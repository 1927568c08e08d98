import type { CSSProperties } from "react";
import type { AnsiColor, AnsiStyle } from "../../ui/ansi.ts";
import { readableColors, textOn, toCssColor } from "../../ui/readable-color.ts";

type Rgb = readonly [number, number, number];

/** The 16 of a terminal; each is made readable on the ground it is shown on. */
const PALETTE: readonly Rgb[] = [
  [46, 52, 54],
  [204, 30, 30],
  [60, 140, 20],
  [170, 120, 0],
  [50, 101, 190],
  [140, 70, 150],
  [6, 130, 140],
  [140, 145, 140],
  [100, 105, 100],
  [239, 41, 41],
  [100, 190, 40],
  [220, 180, 40],
  [90, 145, 230],
  [190, 110, 200],
  [40, 190, 200],
  [220, 222, 220],
];

const rgbOf = (color: AnsiColor): Rgb =>
  "rgb" in color ? color.rgb : (PALETTE[color.index] ?? [128, 128, 128]);

function foreground(color: AnsiColor): string {
  const { onLight, onDark } = readableColors(rgbOf(color));
  return `light-dark(${toCssColor(onLight)}, ${toCssColor(onDark)})`;
}

function colours({ color, background, isDim, isInverse }: AnsiStyle): CSSProperties {
  const ground = isInverse ? color : background;
  // On a ground of its own, text is black or white: any other pair may be unreadable.
  if (ground !== null)
    return { background: toCssColor(rgbOf(ground)), color: toCssColor(textOn(rgbOf(ground))) };
  if (isInverse) return { background: "var(--color-text)", color: "var(--color-ground)" };
  if (color !== null) return { color: foreground(color) };
  return isDim ? { color: "var(--color-quiet)" } : {};
}

const known = new WeakMap<AnsiStyle, CSSProperties>();

export function toCss(style: AnsiStyle): CSSProperties {
  const before = known.get(style);
  if (before !== undefined) return before;
  const lines = [style.isUnderlined && "underline", style.isStruck && "line-through"]
    .filter(Boolean)
    .join(" ");
  const css: CSSProperties = {
    ...colours(style),
    ...(style.isBold && { fontWeight: 700 }),
    ...(style.isItalic && { fontStyle: "italic" }),
    ...(lines !== "" && { textDecoration: lines }),
  };
  known.set(style, css);
  return css;
}
