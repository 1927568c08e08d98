import { Check, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/dialog.tsx";
import type { Completing } from "./complete-token.tsx";

const VERBS = { approve: "Approve", refuse: "Refuse" } as const;

/** Yes or no. What was decided cannot be undone, so one click decides nothing. */
export function Decision({
  property,
  question,
  completing,
}: {
  property: string;
  /** What is approved or refused: repeated where it is confirmed, beside nothing else. */
  question: string;
  completing: Completing;
}): ReactNode {
  const [asked, setAsked] = useState<keyof typeof VERBS | null>(null);
  const isDone = completing.isPending || completing.isSuccess;
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        kind="primary"
        disabled={isDone}
        icon={<Check size={15} aria-hidden />}
        onClick={() => setAsked("approve")}
      >
        {VERBS.approve}
      </Button>
      <Button
        kind="danger"
        disabled={isDone}
        icon={<X size={15} aria-hidden />}
        onClick={() => setAsked("refuse")}
      >
        {VERBS.refuse}
      </Button>
      {asked !== null && (
        <ConfirmDialog
          title={`${VERBS[asked]} this?`}
          description={
            <>
              <span className="block font-medium break-words text-text">
                <bdi>{question}</bdi>
              </span>
              A run that waits for this decision continues. You cannot change the decision later.
            </>
          }
          verb={VERBS[asked]}
          kind={asked === "approve" ? "primary" : "danger"}
          dismissal="Back"
          onConfirm={() => completing.mutateAsync({ [property]: asked === "approve" })}
          onClose={() => setAsked(null)}
        />
      )}
    </div>
  );
}
