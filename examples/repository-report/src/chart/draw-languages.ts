import type { LanguageTotal } from "../count-files.ts";
import type { Area } from "./draw-weeks.ts";
import { countText, cutText, shareText, shortText } from "./numbers.ts";
import { element, group, textAt, tooltip } from "./xml.ts";

export type Share = { language: string; lines: number; files: number; color: number };

const COLORS = 8;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 16;

/** The languages with most lines, and one share for the rest, which has the last color. */
export function toShares(languages: readonly LanguageTotal[]): Share[] {
  const known = languages.filter(({ lines }) => lines > 0);
  const fits = known.length <= COLORS;
  const shown = known.slice(0, fits ? COLORS : COLORS - 1);
  const shares = shown.map(({ language, lines, files }, i) => ({ language, lines, files, color: i }));
  if (fits) return shares;
  const rest = known.slice(COLORS - 1);
  const sum = (of: (total: LanguageTotal) => number): number =>
    rest.reduce((total, one) => total + of(one), 0);
  const language = `${rest.length} more`;
  return [
    ...shares,
    { language, lines: sum((one) => one.lines), files: sum((one) => one.files), color: COLORS },
  ];
}

export const heightOfShares = (shares: number): number => BAR_HEIGHT + 20 + shares * ROW_HEIGHT;

/** One bar cut into shares, and below it each language with its lines. */
export function drawLanguages(shares: readonly Share[], { x, y, width }: Omit<Area, "height">): string {
  if (shares.length === 0) return textAt(x, y + 16, "There are no lines.", { class: "quiet" });
  const whole = shares.reduce((sum, { lines }) => sum + lines, 0);
  let from = 0;
  const bar = shares.map(({ language, lines, color }) => {
    const left = x + (from / whole) * width;
    from += lines;
    const right = x + (from / whole) * width;
    // A gap between neighbours, as long as there is something to see beside it.
    const length = Math.max(0.5, right - left - (right - left > 3 ? 1.5 : 0));
    return element(
      "rect",
      { x: left, y: y + 4, width: length, height: BAR_HEIGHT, class: `c${color}` },
      tooltip(`${language}: ${shareText(lines, whole)}`),
    );
  });
  const rows = shares.map(({ language, lines, files, color }, i) => {
    const top = y + BAR_HEIGHT + 20 + i * ROW_HEIGHT;
    return group({}, [
      tooltip(`${language}: ${countText(lines, "line")} in ${countText(files, "file")}`),
      element("rect", { x, y: top + 5, width: 11, height: 11, rx: 2, class: `c${color}` }),
      textAt(x + 20, top + 15, cutText(language, 22)),
      textAt(x + width - 62, top + 15, shortText(lines), { class: "quiet small", "text-anchor": "end" }),
      textAt(x + width, top + 15, shareText(lines, whole), { "text-anchor": "end" }),
    ]);
  });
  return group({}, [...bar, ...rows]);
}
