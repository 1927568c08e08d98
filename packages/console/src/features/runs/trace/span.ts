import type { Run, RunEvent, Token } from "@keelson/contract";
import type { Tone } from "../../../ui/badge.tsx";

export type SpanKind =
  | "queued"
  | "delayed"
  | "suspended"
  | "attempt"
  | "step"
  | "try"
  | "wait"
  | "output"
  | "token"
  | "child";

/** Something that took time. */
export type Span = {
  /** Names it in an address: the same as long as the run is kept. */
  key: string;
  kind: SpanKind;
  label: string;
  tone: Tone;
  fromMs: number;
  /** Null: it goes on. */
  toMs: number | null;
  /** Whose it is; of a child, the child's own. */
  runId: string;
  attempt: number | null;
  /** Which durable call of the run it is; null where it is none, or nobody said. */
  position: number | null;
  /** What was told of it. */
  events: RunEvent[];
  /** What took its time, in the order in which it began. */
  parts: Span[];
};

export type Child = Pick<Run, "id" | "task" | "actor" | "status" | "created_at" | "finished_at">;

/** A token that the run made. */
export type Made = Pick<Token, "id" | "status" | "created_at" | "updated_at">;

/** What is known of a run whose spans are drawn. */
export type TraceData = {
  events: readonly RunEvent[];
  children: readonly Child[];
  tokens: readonly Made[];
};

/** All of them, with their parts. */
export const flatten = (spans: readonly Span[]): Span[] =>
  spans.flatMap((span) => [span, ...flatten(span.parts)]);

/** The span with this key, and what it is a part of, outermost first; empty when it is not there. */
export function pathTo(spans: readonly Span[], key: string): Span[] {
  for (const span of spans) {
    if (span.key === key) return [span];
    const within = pathTo(span.parts, key);
    if (within.length > 0) return [span, ...within];
  }
  return [];
}
