import { StepError } from "../../durable-errors.ts";
import { FINAL, readRetryAdvice, RETRY_ADVICE } from "../../retry-advice.ts";
import type { Settle } from "./call-promises.ts";
import type { Entry, Outcome } from "./outbox.ts";
import type { StepOutcome } from "./run-tries.ts";
import { toError } from "./to-error.ts";

/** A step as its entry names it. */
type Step = Pick<Entry, "position" | "place" | "name">;

/** What a step has come to: its entry of the journal, and how the code gets it. */
export function toStepOutcome<T>(
  step: Step,
  outcome: StepOutcome,
  { settle, done }: { settle: Settle<T>; done(): void },
): Outcome {
  if ("text" in outcome) {
    const { text, sent } = outcome;
    return {
      entry: { ...step, kind: "step", value: JSON.parse(text) as unknown },
      bytes: text.length,
      deliver: () => settle.resolve(JSON.parse(text) as T),
      ...{ done, sent },
    };
  }
  const { error, thrown } = outcome;
  const failure = new StepError(step.name, toError(error), readRetryAdvice(thrown));
  return {
    entry: { ...step, kind: "step", error },
    bytes: error.message.length,
    deliver: () => settle.reject(failure),
    done,
    sent: () => {
      failure[RETRY_ADVICE] = FINAL;
    },
  };
}
