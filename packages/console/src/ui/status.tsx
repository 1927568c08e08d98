import type { ReactNode } from "react";
import { Badge, type Tone } from "./badge.tsx";

/** Of every resource's states, what a state means to the one who looks. Unknown ones are shown as they are. */
const TONES: Record<string, Tone> = {
  queued: "neutral",
  pending: "neutral",
  created: "neutral",
  running: "info",
  live: "info",
  starting: "info",
  materializing: "info",
  waiting: "accent",
  retry_delayed: "warn",
  cancel_requested: "warn",
  stopping: "warn",
  uncommitted: "warn",
  draining: "warn",
  succeeded: "good",
  ready: "good",
  completed: "good",
  active: "good",
  open: "good",
  fired: "good",
  accepted: "good",
  online: "good",
  failed: "bad",
  system_failed: "bad",
  errored: "bad",
  lost: "bad",
  expired: "warn",
  cancelled: "neutral",
  closed: "neutral",
  revoked: "neutral",
  skipped: "warn",
  timed_out: "warn",
};

/** A state as a word with a mark: told by more than its colour. */
export function Status({ value }: { value: string }): ReactNode {
  const tone = TONES[value] ?? "neutral";
  const isMoving = tone === "info";
  return (
    <Badge tone={tone}>
      <span aria-hidden className={`size-1.5 rounded-full bg-current ${isMoving ? "animate-pulse" : ""}`} />
      {value.replaceAll("_", " ")}
    </Badge>
  );
}
