import type { Run, RunEvent } from "@keelson/contract";
import type { Tone } from "../../../ui/badge.tsx";
import { flatten, type Child, type Made, type Span, type SpanKind, type TraceData } from "./span.ts";

/** A run's spans on one axis. */
export type Trace = { fromMs: number; toMs: number; spans: readonly Span[] };

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

const TOKEN_TONES: Record<Made["status"], Tone> = {
  pending: "accent",
  completed: "good",
  cancelled: "neutral",
  expired: "warn",
};

/** What the events so far have drawn. */
type Draft = {
  runId: string;
  /** Before the keys of its spans: where the run is a child, the child's own. */
  prefix: string;
  spans: Span[];
  /** The open span of the run's state: it is in one at a time. */
  state: Span | null;
  /** The latest span in which code ran. */
  attempt: Span | null;
  /** Open waits by their position. */
  waits: Map<string, Span>;
  /** Steps of the attempt whose last try failed, and its streams, by their names. */
  steps: Map<string, Span>;
  outputs: Map<string, Span>;
};
type State = "queued" | "delayed" | "attempt" | "suspended";

function spanOf(
  { runId, prefix }: Draft,
  event: RunEvent,
  span: Pick<Span, "kind" | "label" | "tone" | "fromMs" | "toMs"> & { position?: number | null },
): Span {
  const { id, attempt_number: attempt } = event;
  // Not a number alone, which an address would have in quotes.
  return { key: `${prefix}e${id}`, runId, attempt, position: null, events: [event], parts: [], ...span };
}

/** Puts it into the attempt that is under way; what comes in none stands for itself. */
function place(draft: Draft, span: Span): Span {
  (draft.state?.kind === "attempt" ? draft.state.parts : draft.spans).push(span);
  return span;
}

function leave(draft: Draft, event: RunEvent, tone?: Tone): void {
  const { state } = draft;
  if (state === null) return;
  state.toMs = Date.parse(event.at);
  if (state.events.at(-1) !== event) state.events.push(event);
  if (tone !== undefined && state.kind === "attempt") state.tone = tone;
  draft.state = null;
}

function enter(draft: Draft, event: RunEvent, kind: State, label: string, tone: Tone): void {
  if (draft.state?.kind === kind && draft.state.label === label) return void draft.state.events.push(event);
  leave(draft, event);
  const state = spanOf(draft, event, { kind, label, tone, fromMs: Date.parse(event.at), toMs: null });
  draft.spans.push(state);
  draft.state = state;
  if (kind !== "attempt") return;
  draft.attempt = state;
  draft.steps.clear();
  draft.outputs.clear();
}

/** What moves the run from one state to another. */
function readState(draft: Draft, event: RunEvent): void {
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
      if (draft.state?.kind === "attempt") draft.state.events.push(event);
      else enter(draft, event, "attempt", `${attempt}, resumed`, "info");
      break;
    case "run.suspended":
      leave(draft, event, "neutral");
      enter(draft, event, "suspended", "Suspended", "neutral");
      break;
    case "run.continued":
      leave(draft, event, "good");
      enter(draft, event, "delayed", "Continues with an empty journal", "neutral");
      break;
    case "run.retry_delayed":
      leave(draft, event, "bad");
      enter(draft, event, "delayed", "Delay before the next attempt", "warn");
      break;
    case "lease.lost":
      leave(draft, event, "warn");
      break;
    default: {
      const ending = ENDINGS[event.kind];
      if (ending === undefined) return void draft.state?.events.push(event);
      leave(draft, event, ending);
      for (const wait of draft.waits.values()) wait.toMs = Date.parse(event.at);
      draft.waits.clear();
    }
  }
}

/** A step is told at the end of each try, with how long that took. */
function readStep(draft: Draft, event: RunEvent): void {
  const { id, kind, severity, at, attributes } = event;
  const toMs = Date.parse(at);
  const number = numberOf(attributes["try"]);
  const label = textOf(attributes["step"], "step");
  const position = typeof attributes["position"] === "number" ? attributes["position"] : null;
  // Reports of the beginning and of the step were not equally long on their way.
  const beganMs = draft.state?.kind === "attempt" ? draft.state.fromMs : -Infinity;
  const tone: Tone = kind === "step.completed" ? "good" : severity === "error" ? "bad" : "warn";
  const fromMs = Math.min(toMs, Math.max(beganMs, toMs - Math.max(0, numberOf(attributes["duration_ms"]))));
  const one = spanOf(draft, event, { kind: "try", label: `Try ${number}`, tone, fromMs, toMs, position });
  one.key = `${draft.prefix}t${id}`;
  const name = String(position ?? label);
  const known = draft.steps.get(name);
  const step =
    known ?? place(draft, spanOf(draft, event, { kind: "step", label, tone, fromMs, toMs, position }));
  if (known !== undefined) step.events.push(event);
  Object.assign(step, { tone, toMs });
  step.parts.push(one);
  if (kind === "step.completed" || severity === "error") draft.steps.delete(name);
  else draft.steps.set(name, step);
}

function readWait(draft: Draft, event: RunEvent): void {
  const { kind, at, attributes } = event;
  const name = JSON.stringify(attributes["position"] ?? null);
  if (kind === "wait.created") {
    const label = textOf(attributes["name"], textOf(attributes["kind"], "wait"));
    const position = typeof attributes["position"] === "number" ? attributes["position"] : null;
    const fromMs = Date.parse(at);
    const span = spanOf(draft, event, { kind: "wait", label, tone: "accent", fromMs, toMs: null, position });
    draft.waits.set(name, place(draft, span));
    return;
  }
  const wait = draft.waits.get(name);
  if (wait === undefined) return;
  wait.toMs = Date.parse(at);
  wait.events.push(event);
  if (kind === "wait.timed_out") wait.tone = "warn";
  draft.waits.delete(name);
}

/** All that an attempt writes into a stream is one span: an answer has thousands of pieces. */
function readOutput(draft: Draft, event: RunEvent): void {
  const label = textOf(event.attributes["stream"], "output");
  const atMs = Date.parse(event.at);
  const known = draft.outputs.get(label);
  if (known === undefined) {
    const span = spanOf(draft, event, { kind: "output", label, tone: "info", fromMs: atMs, toMs: atMs });
    draft.outputs.set(label, place(draft, span));
    return;
  }
  known.toMs = atMs;
  known.events.push(event);
}

function read(draft: Draft, event: RunEvent): void {
  if (event.kind.startsWith("step.")) readStep(draft, event);
  else if (event.kind.startsWith("wait.")) readWait(draft, event);
  else if (event.kind === "output.appended") readOutput(draft, event);
  else if (["metadata.updated", "state.updated"].includes(event.kind) || event.kind.startsWith("checkpoint."))
    draft.state?.events.push(event);
  else readState(draft, event);
}

const childSpan = (child: Child, prefix: string, parts: Span[]): Span => ({
  key: `${prefix}${child.id}`,
  kind: "child",
  label: child.task ?? child.actor ?? child.id,
  tone: CHILD_TONES[child.status] ?? "neutral",
  fromMs: Date.parse(child.created_at),
  toMs: child.finished_at === null ? null : Date.parse(child.finished_at),
  runId: child.id,
  attempt: null,
  position: null,
  events: [],
  parts,
});

/** From when the run made it until it was settled. */
const tokenSpan = (
  { id, status, created_at, updated_at }: Made,
  { runId, prefix }: Pick<Draft, "runId" | "prefix">,
): Span => ({
  ...{ key: `${prefix}${id}`, kind: "token", label: id, tone: TOKEN_TONES[status], runId },
  fromMs: Date.parse(created_at),
  toMs: status === "pending" ? null : Date.parse(updated_at),
  ...{ attempt: null, position: null, events: [], parts: [] },
});

/** The attempt that was under way then. */
const attemptAt = (spans: readonly Span[], atMs: number): Span | undefined =>
  spans.find(
    ({ kind, fromMs, toMs }) =>
      kind === "attempt" && fromMs <= atMs && atMs <= (toMs ?? Number.POSITIVE_INFINITY),
  );

function sort(spans: Span[]): Span[] {
  for (const span of spans) {
    // One try is the step.
    if (span.kind === "step" && span.parts.length === 1) span.parts = [];
    sort(span.parts);
  }
  return spans.sort((a, b) => a.fromMs - b.fromMs);
}

/**
 * The spans of a run: its states and attempts, and in these its steps with their tries, its waits and tokens, what it wrote, and
 * the runs that it started, each with its own spans where these are known. What is open ends with the run, or goes on.
 *
 * @param known what is known of child runs, by their ids
 */
export function spansOf(
  runId: string,
  { events, children, tokens }: TraceData,
  known: ReadonlyMap<string, TraceData>,
  prefix = "",
): Span[] {
  const draft: Draft = {
    ...{ runId, prefix, spans: [], state: null, attempt: null },
    ...{ waits: new Map(), steps: new Map(), outputs: new Map() },
  };
  for (const event of events) read(draft, event);
  const placeAt = (span: Span): void =>
    void (attemptAt(draft.spans, span.fromMs)?.parts ?? draft.spans).push(span);
  for (const token of tokens) placeAt(tokenSpan(token, draft));
  for (const child of children) {
    const data = known.get(child.id);
    const within = `${prefix}${child.id}/`;
    placeAt(childSpan(child, prefix, data === undefined ? [] : spansOf(child.id, data, known, within)));
  }
  return sort(draft.spans);
}

/** The spans with the time that they are in, from the first to the last, or now. */
export function traceOf(spans: readonly Span[], nowMs: number): Trace {
  const all = flatten(spans);
  const fromMs = all.reduce((least, span) => Math.min(least, span.fromMs), all[0]?.fromMs ?? nowMs);
  const toMs = all.reduce((most, span) => Math.max(most, span.toMs ?? nowMs), fromMs + 1);
  return { fromMs, toMs, spans };
}

const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;
const textOf = (value: unknown, otherwise: string): string =>
  typeof value === "string" && value !== "" ? value : otherwise;

/** Spans of these kinds are open until they are closed by hand. */
export const isOpenByDefault = (kind: SpanKind): boolean => kind === "attempt";
