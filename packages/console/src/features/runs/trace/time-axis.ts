import type { Trace } from "./build-trace.ts";
import { flatten, type Span } from "./span.ts";
import { ticksOf } from "./ticks.ts";

/** A stretch of time, in milliseconds. */
export type Stretch = { fromMs: number; toMs: number };

/**
 * Where instants are on the axis of a timeline: to scale, but for folds, each of which has a fixed share of it however long
 * it is.
 */
export type Axis = Stretch & {
  /** In their order, apart from each other. */
  folds: readonly Stretch[];
  /** What each fold has of the axis, from 0 to 1. */
  foldShare: number;
};

/** A fold is so much longer than all that was done: what was done would be too thin to see beside it. */
const FOLDED_TIMES = 4;
const MIN_FOLD_MS = 1000;
const FOLD_SHARE = 0.08;
/** All folds together have no more of the axis. */
const MAX_FOLDED_SHARE = 0.5;

const isBusy = ({ kind }: Pick<Span, "kind">): boolean =>
  kind === "attempt" || kind === "step" || kind === "child";

/**
 * Stretches in which nothing was at work, much longer than all work together: the run was queued, delayed or suspended.
 * None when nothing has been at work, since there is nothing to make room for.
 */
export function idleStretches({ fromMs, toMs, spans }: Trace): Stretch[] {
  const idle: Stretch[] = [];
  let busyMs = 0;
  let reachedMs = fromMs;
  const busy = flatten(spans)
    .filter(isBusy)
    .sort((a, b) => a.fromMs - b.fromMs);
  for (const span of busy) {
    const endMs = span.toMs ?? toMs;
    if (span.fromMs > reachedMs) idle.push({ fromMs: reachedMs, toMs: span.fromMs });
    busyMs += Math.max(0, endMs - Math.max(reachedMs, span.fromMs));
    reachedMs = Math.max(reachedMs, endMs);
  }
  if (reachedMs < toMs) idle.push({ fromMs: reachedMs, toMs });
  const least = Math.max(MIN_FOLD_MS, FOLDED_TIMES * busyMs);
  return busyMs === 0 ? [] : idle.filter((one) => one.toMs - one.fromMs > least);
}

export const axisOf = ({ fromMs, toMs }: Stretch, folds: readonly Stretch[]): Axis => ({
  ...{ fromMs, toMs, folds },
  foldShare: folds.length === 0 ? 0 : Math.min(FOLD_SHARE, MAX_FOLDED_SHARE / folds.length),
});

/** What is drawn to scale: what lies before, between and after the folds. */
function scaledStretches({ fromMs, toMs, folds }: Axis): Stretch[] {
  const ends = [...folds.map((fold) => fold.fromMs), toMs];
  return ends.map((end, index) => ({ fromMs: folds[index - 1]?.toMs ?? fromMs, toMs: end }));
}

/** How much of the stretch has passed at an instant, from nothing to all of it. */
const passedMs = ({ fromMs, toMs }: Stretch, atMs: number): number =>
  Math.max(0, Math.min(atMs, toMs) - fromMs);

/** Where an instant is, from 0 to 1: never before an earlier one. */
export function placeOf(axis: Axis, atMs: number): number {
  const scaled = scaledStretches(axis);
  const passed = scaled.reduce((sum, one) => sum + passedMs(one, atMs), 0);
  const all = scaled.reduce((sum, one) => sum + passedMs(one, axis.toMs), 0);
  const folded = axis.folds.reduce((sum, one) => sum + passedMs(one, atMs) / (one.toMs - one.fromMs), 0);
  const place = (1 - axis.folds.length * axis.foldShare) * (passed / all) + axis.foldShare * folded;
  return Math.max(0, Math.min(1, place));
}

/** A round time since the beginning, or since the end of the fold before. */
export type Tick = { atMs: number; sinceMs: number; isAfterFold: boolean };

/** Where the axis is to scale; the end of a fold has none of its own, since it is marked. */
export function ticksOfAxis(axis: Axis): Tick[] {
  const scaled = scaledStretches(axis);
  const [, stepMs = Infinity] = ticksOf(scaled.reduce((sum, one) => sum + passedMs(one, axis.toMs), 0));
  return scaled.flatMap((stretch, index) => {
    const isAfterFold = index > 0;
    const count = Math.floor((stretch.toMs - stretch.fromMs) / stepMs);
    const times = Array.from({ length: count + 1 }, (_, n) => (n === 0 ? 0 : n * stepMs));
    return (isAfterFold ? times.slice(1) : times).map((sinceMs) => ({
      ...{ sinceMs, isAfterFold },
      atMs: stretch.fromMs + sinceMs,
    }));
  });
}
