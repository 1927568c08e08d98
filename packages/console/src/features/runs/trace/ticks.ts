const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 500, 1000].map((count) => count * DAY),
];
const MAX_TICKS = 6;

/** Round times since the beginning, at most six. */
export function ticksOf(lengthMs: number): number[] {
  const step = STEPS.find((one) => lengthMs / one < MAX_TICKS) ?? lengthMs / MAX_TICKS;
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, index) => index * step);
}
