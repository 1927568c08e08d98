import type { ReactNode } from "react";
import { cx } from "../../../ui/class-names.ts";

const TONES = {
  info: "bg-info-ground text-info",
  warn: "bg-warn-ground text-warn",
  bad: "bg-bad-ground text-bad",
} as const;

/** What the run does, in one sentence, and below it why. */
export function Notice({
  tone,
  title,
  children,
}: {
  tone: keyof typeof TONES;
  title: ReactNode;
  children?: ReactNode;
}): ReactNode {
  return (
    <div className={cx("flex flex-col gap-1.5 rounded-md px-3 py-2", TONES[tone])}>
      <p className="font-medium break-words">{title}</p>
      {children}
    </div>
  );
}
