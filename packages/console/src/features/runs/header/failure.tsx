import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import { EnvironmentLink, TEXT_LINK } from "../../../app/environment-link.tsx";
import { visibleLines } from "../../../ui/visible-text.ts";
import { AttemptList } from "./attempt-list.tsx";
import type { Attempt } from "./attempts-of.ts";
import { Notice } from "./notice.tsx";
import { StackView } from "./stack-view.tsx";

/** How the run failed: the error, where in its own code, and what came of the attempts before. */
export function Failure({
  failure,
  errorGroupId,
  attempts,
}: {
  failure: NonNullable<Run["failure"]>;
  errorGroupId: string | null;
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
      {errorGroupId !== null && (
        <p>
          <EnvironmentLink to={`errors/${errorGroupId}`} className={TEXT_LINK}>
            Runs that failed in the same way
          </EnvironmentLink>
        </p>
      )}
      {attempts.length > 0 && <AttemptList attempts={attempts} />}
    </Notice>
  );
}

const sentenceCase = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
