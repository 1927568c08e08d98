/** As people see them: an emoji of many code points is one. */
const CHARACTERS = new Intl.Segmenter("en");
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const SHARE = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat("en", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

export const wholeText = (value: number): string => WHOLE.format(value);
/** Whole up to five digits, then like 1.2M. */
export const shortText = (value: number): string =>
  value < 100_000 ? WHOLE.format(value) : SHORT.format(value);
/** Something small is not nothing. */
export const shareText = (part: number, whole: number): string =>
  part > 0 && part / whole < 0.001 ? "<0.1%" : SHARE.format(whole === 0 ? 0 : part / whole);
export const dayText = (iso: string): string => DAY.format(new Date(iso));

export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${wholeText(count)} ${count === 1 ? one : many}`;

/** Round values from 0 to at least `maximum`, about `count` steps apart; whole numbers only. */
export function ticksUpTo(maximum: number, count: number): number[] {
  const rough = Math.max(1, maximum / count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough) as number;
  const whole = Math.max(1, Math.ceil(step));
  const last = Math.max(1, Math.ceil(maximum / whole)) * whole;
  return Array.from({ length: last / whole + 1 }, (_, i) => i * whole);
}

/** At most `characters` of a path or name, cut in the middle: its ends say most. */
export function cutText(text: string, characters: number): string {
  const parts = Array.from(CHARACTERS.segment(text), ({ segment }) => segment);
  if (parts.length <= characters) return text;
  const tail = Math.floor((characters - 1) / 2);
  return `${parts.slice(0, characters - 1 - tail).join("")}…${parts.slice(parts.length - tail).join("")}`;
}
