import type { Run, RunEvent } from "@keelson/contract";
import type { Tone } from "../../ui/badge.tsx";

export type BarKind = "queued" | "delayed" | "attempt" | "suspended" | "step" | "wait" | "child";

/** Something that took time. `toMs` null: it goes on. */
export type Bar = {
  key: string;
  kind: BarKind;
  label: string;
  tone: Tone;
  fromMs: number;
  toMs: number | null;
  /** Of a child. */
  runId: string | null;
};

export type TimelineLayout = { fromMs: number; toMs: number; bars: readonly Bar[] };
export type Child = Pick<Run, "id" | "task" | "actor" | "status" | "created_at" | "finished_at">;

const ENDINGS: Record<string, Tone> = {
  "run.succeeded": "good",
  "run.failed": "bad",
  "run.system_failed": "bad",
  "run.cancelled": "neutral",
  "run.expired": "warn",
};
const CHILD_TONES: Partial<Record<Run["status"], Tone>> = {
  succeeded: "good",
  failed: "bad",
  system_failed: "bad",
  expired: "warn",
  running: "info",
};

/** What the events so far have drawn. */
type Draft = {
  bars: Bar[];
  /** The open bar of the run's state: it is in one at a time. */
  state: Bar | null;
  /** Open waits by their position. */
  waits: Map<string, Bar>;
};
type State = "queued" | "delayed" | "attempt" | "suspended";

function add(draft: Draft, key: string, bar: Omit<Bar, "key" | "runId">): Bar {
  const added = { ...bar, key, runId: null };
  draft.bars.push(added);
  return added;
}

function leave(draft: Draft, atMs: number, tone?: Tone): void {
  const { state } = draft;
  if (state === null) return;
  state.toMs = atMs;
  if (tone !== undefined && state.kind === "attempt") state.tone = tone;
  draft.state = null;
}

function enter(draft: Draft, { id, at }: RunEvent, kind: State, label: string, tone: Tone): void {
  const atMs = Date.parse(at);
  if (draft.state?.kind === kind && draft.state.label === label) return;
  leave(draft, atMs);
  draft.state = add(draft, id, { kind, label, tone, fromMs: atMs, toMs: null });
}

/** What moves the run from one state to another. */
function readState(draft: Draft, event: RunEvent): void {
  const atMs = Date.parse(event.at);
  const attempt = `Attempt ${event.attempt_number ?? 1}`;
  switch (event.kind) {
    case "run.created":
    case "run.queued":
      enter(draft, event, "queued", "Queued", "neutral");
      break;
    case "run.started":
      enter(draft, event, "attempt", attempt, "info");
      break;
    case "run.resumed":
      // Parked in memory, the attempt goes on; after a suspension it is taken up again.
      if (draft.state?.kind !== "attempt") enter(draft, event, "attempt", `${attempt}, resumed`, "info");
      break;
    case "run.suspended":
      leave(draft, atMs, "neutral");
      enter(draft, event, "suspended", "Suspended", "neutral");
      break;
    case "run.retry_delayed":
      leave(draft, atMs, "bad");
      enter(draft, event, "delayed", "Delay before the next attempt", "warn");
      break;
    case "lease.lost":
      leave(draft, atMs, "warn");
      break;
    default: {
      const ending = ENDINGS[event.kind];
      if (ending === undefined) break;
      leave(draft, atMs, ending);
      for (const wait of draft.waits.values()) wait.toMs = atMs;
      draft.waits.clear();
    }
  }
}

function readStep(draft: Draft, { id, kind, severity, at, attributes }: RunEvent): void {
  const toMs = Date.parse(at);
  const tries = numberOf(attributes["try"]);
  // Reports of the beginning and of the step were not equally long on their way.
  const beganMs = draft.state?.kind === "attempt" ? draft.state.fromMs : -Infinity;
  add(draft, id, {
    kind: "step",
    label: `${textOf(attributes["step"], "step")}${tries > 1 ? `, try ${tries}` : ""}`,
    tone: kind === "step.completed" ? "good" : severity === "error" ? "bad" : "warn",
    fromMs: Math.min(toMs, Math.max(beganMs, toMs - Math.max(0, numberOf(attributes["duration_ms"])))),
    toMs,
  });
}

function readWait(draft: Draft, { id, kind, at, attributes }: RunEvent): void {
  const atMs = Date.parse(at);
  const position = JSON.stringify(attributes["position"] ?? null);
  if (kind === "wait.created") {
    const label = textOf(attributes["name"], textOf(attributes["kind"], "wait"));
    draft.waits.set(
      position,
      add(draft, id, { kind: "wait", label, tone: "accent", fromMs: atMs, toMs: null }),
    );
    return;
  }
  const wait = draft.waits.get(position);
  if (wait === undefined) return;
  wait.toMs = atMs;
  if (kind === "wait.timed_out") wait.tone = "warn";
  draft.waits.delete(position);
}

const barOf = (child: Child): Bar => ({
  key: child.id,
  kind: "child",
  label: child.task ?? child.actor ?? child.id,
  tone: CHILD_TONES[child.status] ?? "neutral",
  fromMs: Date.parse(child.created_at),
  toMs: child.finished_at === null ? null : Date.parse(child.finished_at),
  runId: child.id,
});

/**
 * What a run's events say took time, in the order in which it began. Steps are told at their end, with how long they
 * took. What is open ends with the run, or goes on.
 */
export function layOutTimeline(
  events: readonly RunEvent[],
  children: readonly Child[],
  nowMs: number,
): TimelineLayout {
  const draft: Draft = { bars: [], state: null, waits: new Map() };
  for (const event of events) {
    if (event.kind.startsWith("step.")) readStep(draft, event);
    else if (event.kind.startsWith("wait.")) readWait(draft, event);
    else readState(draft, event);
  }
  const bars = [...draft.bars, ...children.map(barOf)].toSorted((a, b) => a.fromMs - b.fromMs);
  const fromMs = bars[0]?.fromMs ?? nowMs;
  let toMs = fromMs + 1;
  for (const bar of bars) toMs = Math.max(toMs, bar.toMs ?? nowMs);
  return { fromMs, toMs, bars };
}

const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;
const textOf = (value: unknown, otherwise: string): string =>
  typeof value === "string" && value !== "" ? value : otherwise;

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
