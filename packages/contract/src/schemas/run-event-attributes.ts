import { Type, type Static } from "typebox";
import { FAILURE_KINDS, type RunEventKind } from "../runs.ts";
import { WAIT_KINDS } from "../sessions.ts";
import { Nullable } from "./primitives.ts";

/** What the `attributes` of each kind of run event hold. More may come with later versions. */

const none = (description: string) => Type.Object({}, { description });

const failureFields = {
  kind: Type.Enum([...FAILURE_KINDS]),
  message: Type.String({ description: "Of the error." }),
};

const wait = (description: string) =>
  Type.Object(
    {
      kind: Type.Enum([...WAIT_KINDS]),
      name: Type.String({ description: "As the code named the wait, or the name it got on its own." }),
      position: Type.Integer({ description: "Which durable call of the run it is, from 1." }),
    },
    { description },
  );

const stepFields = {
  step: Type.String({ description: "The step's name." }),
  position: Type.Optional(
    Type.Integer({ description: "Which durable call of the run it is, from 1; older SDKs do not say." }),
  ),
  try: Type.Integer({ description: "Which try of the step it was, from 1." }),
  duration_ms: Type.Integer({ description: "How long the try took, in milliseconds." }),
};

export const RUN_EVENT_ATTRIBUTES = {
  "run.created": none("The run was accepted, and is durable. The first event of every run."),
  "run.queued": none("The run waits for a slot of a worker: for the first time, or again."),
  "run.leased": none("A worker has taken the run."),
  "run.started": none("The code of the attempt has begun."),
  "run.waiting": none("The code only waits, and the run has released its slot."),
  "run.resumed": none("The code continues, after a wait or a suspension."),
  "run.suspended": none(
    "The attempt has left its worker. It continues with its journal when it is queued again.",
  ),
  "run.continued": Type.Object(
    {
      continuation: Type.Integer({ description: "Which continuation of the run it is, from 1." }),
    },
    {
      description:
        "The code called `ctx.continueAs()`. The run continues in a second, with an empty journal and a new payload.",
    },
  ),
  "run.retry_delayed": Type.Object(
    {
      ...failureFields,
      delay_ms: Type.Integer({ description: "How long until the next attempt." }),
      stack: Type.Optional(
        Type.String({ description: "Where the error came from; cut after 2,048 characters." }),
      ),
    },
    { description: "The attempt failed, or infrastructure ended it, and another one follows." },
  ),
  "run.cancel_requested": none("A cancellation was requested, and the server tells the worker."),
  "run.succeeded": none("The run has ended with an output."),
  "run.failed": Type.Object(failureFields, { description: "The run has ended with a failure." }),
  "run.cancelled": none("The run has ended because somebody asked for it."),
  "run.expired": none("The run has ended because no worker took it within its time to live."),
  "run.system_failed": none(
    "The run has ended because infrastructure failures ended all its attempts, including extra ones, or prevented its code from beginning too often.",
  ),
  "step.completed": Type.Object(stepFields, { description: "A step has its outcome, which is kept." }),
  "step.failed": Type.Object(
    {
      ...stepFields,
      max_tries: Type.Integer(),
      retry_after_ms: Nullable(
        Type.Integer({ description: "Until the next try; null: it was the last one." }),
      ),
    },
    { description: "A try of a step threw." },
  ),
  "wait.created": wait("The run waits for something from now on."),
  "wait.resolved": wait("The wait of the run was resolved."),
  "wait.timed_out": wait("The time of the wait ran out first."),
  "wait.cancelled": wait(
    "The code gave up what it waited for. Waits that end with their run leave no event.",
  ),
  "output.appended": Type.Object(
    { stream: Type.String(), records: Type.Integer({ description: "How many." }) },
    { description: "The run has appended to an output stream of its session." },
  ),
  "state.updated": Type.Object(
    { version: Type.Integer({ description: "Of the state that was set." }) },
    { description: "The run has set the state of its session." },
  ),
  "metadata.updated": Type.Object(
    { keys: Type.Array(Type.String(), { description: "One for each change, in order." }) },
    { description: "The run has changed its metadata." },
  ),
  "checkpoint.ready": none("Everything that the run needs to continue on another worker is stored."),
  "checkpoint.failed": none("It could not be stored; `message` says why. The run stays where it is."),
  "lease.lost": none(
    "The lease ended without a report: the worker stopped responding, or its infrastructure failed. `message` has the cause.",
  ),
} as const satisfies Record<RunEventKind, ReturnType<typeof Type.Object>>;

export type RunEventAttributes = {
  [Kind in RunEventKind]: Static<(typeof RUN_EVENT_ATTRIBUTES)[Kind]>;
};
