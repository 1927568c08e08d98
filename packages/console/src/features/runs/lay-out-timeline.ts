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

/** The one of a state's bars that is open: a run is in one state at a time. */
type State = "queued" | "delayed" | "attempt" | "suspended";

/**
 * What a run's events say took time, in the order in which it began. Steps are told at their end, with how long they
 * took. What is open ends with the run, or goes on.
 */
export function layOutTimeline(
  events: readonly RunEvent[],
  children: readonly Child[],
  nowMs: number,
): TimelineLayout {
  const bars: Bar[] = [];
  let state: Bar | null = null;
  const waits = new Map<string, Bar>();
  const add = (bar: Omit<Bar, "key" | "runId">, key: string): Bar => {
    const added = { ...bar, key, runId: null };
    bars.push(added);
    return added;
  };
  const leave = (atMs: number, tone?: Tone): void => {
    if (state === null) return;
    state.toMs = atMs;
    if (tone !== undefined && state.kind === "attempt") state.tone = tone;
    state = null;
  };
  const enter = (kind: State, label: string, tone: Tone, event: RunEvent, atMs: number): void => {
    if (state?.kind === kind && state.label === label) return;
    leave(atMs);
    state = add({ kind, label, tone, fromMs: atMs, toMs: null }, event.id);
  };
  const closeWaits = (atMs: number): void => {
    for (const wait of waits.values()) wait.toMs = atMs;
    waits.clear();
  };

  for (const event of events) {
    const atMs = Date.parse(event.at);
    const { kind, attributes } = event;
    const attempt = `Attempt ${event.attempt_number ?? 1}`;
    switch (kind) {
      case "run.created":
      case "run.queued":
        enter("queued", "Queued", "neutral", event, atMs);
        break;
      case "run.started":
        enter("attempt", attempt, "info", event, atMs);
        break;
      case "run.resumed":
        // Parked in memory, the attempt goes on; after a suspension it is taken up again.
        if (readState(state) !== "attempt") enter("attempt", `${attempt}, resumed`, "info", event, atMs);
        break;
      case "run.suspended":
        leave(atMs, "neutral");
        enter("suspended", "Suspended", "neutral", event, atMs);
        break;
      case "run.retry_delayed":
        leave(atMs, "bad");
        enter("delayed", "Delay before the next attempt", "warn", event, atMs);
        break;
      case "lease.lost":
        leave(atMs, "warn");
        break;
      case "run.succeeded":
      case "run.failed":
      case "run.cancelled":
      case "run.expired":
      case "run.system_failed":
        leave(atMs, ENDINGS[kind]);
        closeWaits(atMs);
        break;
      case "step.completed":
      case "step.failed": {
        const tookMs = Math.max(0, numberOf(attributes["duration_ms"]));
        const tries = numberOf(attributes["try"]);
        const tone = kind === "step.completed" ? "good" : event.severity === "error" ? "bad" : "warn";
        const label = `${textOf(attributes["step"], "step")}${tries > 1 ? `, try ${tries}` : ""}`;
        add({ kind: "step", label, tone, fromMs: atMs - tookMs, toMs: atMs }, event.id);
        break;
      }
      case "wait.created": {
        const label = textOf(attributes["name"], textOf(attributes["kind"], "wait"));
        const wait = add({ kind: "wait", label, tone: "accent", fromMs: atMs, toMs: null }, event.id);
        waits.set(String(attributes["position"] ?? event.id), wait);
        break;
      }
      case "wait.resolved":
      case "wait.timed_out":
      case "wait.cancelled": {
        const position = String(attributes["position"] ?? "");
        const wait = waits.get(position);
        if (wait === undefined) break;
        wait.toMs = atMs;
        if (kind === "wait.timed_out") wait.tone = "warn";
        waits.delete(position);
        break;
      }
      default:
        break;
    }
  }
  for (const child of children)
    bars.push({
      key: child.id,
      kind: "child",
      label: child.task ?? child.actor ?? child.id,
      tone: CHILD_TONES[child.status] ?? "neutral",
      fromMs: Date.parse(child.created_at),
      toMs: child.finished_at === null ? null : Date.parse(child.finished_at),
      runId: child.id,
    });
  bars.sort((a, b) => a.fromMs - b.fromMs);
  let fromMs = bars[0]?.fromMs ?? nowMs;
  let toMs = fromMs + 1;
  for (const bar of bars) {
    fromMs = Math.min(fromMs, bar.fromMs);
    toMs = Math.max(toMs, bar.toMs ?? nowMs);
  }
  return { fromMs, toMs, bars };
}

const readState = (state: Bar | null): BarKind | null => state?.kind ?? null;
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
