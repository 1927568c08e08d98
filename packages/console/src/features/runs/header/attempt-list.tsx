import type { ReactNode } from "react";
import type { Tone } from "../../../ui/badge.tsx";
import { Badge } from "../../../ui/badge.tsx";
import { describeDuration } from "../../../ui/describe-time.ts";
import { Time } from "../../../ui/time.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { Attempt, AttemptOutcome } from "./attempts-of.ts";

const MAX_SHOWN = 5;
const TONES: Record<AttemptOutcome, Tone> = {
  running: "info",
  succeeded: "good",
  continued: "good",
  failed: "bad",
  lost: "warn",
  cancelled: "neutral",
};

/** The attempts so far: when each began, how long it took, and how it ended. */
export function AttemptList({ attempts }: { attempts: readonly Attempt[] }): ReactNode {
  const earlier = attempts.slice(0, -MAX_SHOWN);
  return (
    <div className="flex flex-col gap-1 text-sm text-text">
      {earlier.length > 0 && (
        <details>
          <summary className="text-quiet">{earlier.length} earlier attempts</summary>
          <Rows label="Earlier attempts" attempts={earlier} />
        </details>
      )}
      <Rows label="Attempts" attempts={attempts.slice(-MAX_SHOWN)} />
    </div>
  );
}

const Rows = ({ label, attempts }: { label: string; attempts: readonly Attempt[] }): ReactNode => (
  <ol aria-label={label} className="flex flex-col gap-1">
    {attempts.map((attempt) => (
      <Row key={attempt.number} attempt={attempt} />
    ))}
  </ol>
);

function Row({ attempt: { number, fromMs, toMs, outcome, message } }: { attempt: Attempt }): ReactNode {
  const beganAt = fromMs ?? toMs;
  return (
    <li className="flex flex-wrap items-baseline gap-x-2">
      <span className="font-medium">Attempt {number}</span>
      <Badge tone={TONES[outcome]}>{outcome}</Badge>
      <span className="text-quiet">
        {beganAt !== null && <Time at={new Date(beganAt).toISOString()} isPast />}
        {fromMs !== null && toMs !== null && `, took ${describeDuration(Math.max(0, toMs - fromMs))}`}
      </span>
      {message !== null && <bdi className="min-w-0 break-words">{visibleText(message)}</bdi>}
    </li>
  );
}
