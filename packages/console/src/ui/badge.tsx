import type { ReactNode } from "react";
import { cx } from "./class-names.ts";

export type Tone = "neutral" | "good" | "bad" | "warn" | "info" | "accent";

const TONES: Record<Tone, string> = {
  neutral: "bg-raised text-quiet",
  good: "bg-good-ground text-good",
  bad: "bg-bad-ground text-bad",
  warn: "bg-warn-ground text-warn",
  info: "bg-info-ground text-info",
  accent: "bg-accent-ground text-accent",
};

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }): ReactNode {
  return (
    <span
      className={cx(
        "inline-flex items-center gap-1 rounded px-1.5 py-0.5 text-xs font-medium whitespace-nowrap",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}
