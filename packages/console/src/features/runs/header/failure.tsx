import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import { visibleLines } from "../../../ui/visible-text.ts";
import { AttemptList } from "./attempt-list.tsx";
import type { Attempt } from "./attempts-of.ts";
import { Notice } from "./notice.tsx";
import { StackView } from "./stack-view.tsx";

/** How the run failed: the error, where in its own code, and what came of the attempts before. */
export function Failure({
  failure,
  attempts,
}: {
  failure: NonNullable<Run["failure"]>;
  attempts: readonly Attempt[];
}): ReactNode {
  const { kind, message, stack, retryable } = failure;
  return (
    <Notice
      tone="bad"
      title={
        <>
          {sentenceCase(kind.replaceAll("_", " "))}:{" "}
          <bdi className="whitespace-pre-wrap">{visibleLines(message)}</bdi>
        </>
      }
    >
      {stack !== null && <StackView stack={stack} />}
      {!retryable && <p>This error is not retried.</p>}
      {attempts.length > 0 && <AttemptList attempts={attempts} />}
    </Notice>
  );
}

const sentenceCase = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
