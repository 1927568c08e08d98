import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { DURABLE_WAIT_KINDS, JOURNAL_KINDS, WAIT_STATUSES } from "../sessions.ts";
import { DurableError } from "./durable.ts";
import { Id, JsonValue, Nullable, pageQuery, Timestamp } from "./primitives.ts";

/** What a wait waited for, and how it settled. */
const CallWait = Type.Object({
  kind: Type.Enum([...DURABLE_WAIT_KINDS]),
  status: Type.Enum([...WAIT_STATUSES]),
  timeout_at: Nullable(Timestamp),
});

/** A durable call of a run, with the outcome that its code saw. */
export const RunCall = Type.Object(
  {
    run_id: Id("run"),
    position: Type.Integer({ description: "Which durable call of the run it is, from 1." }),
    kind: Type.Enum([...JOURNAL_KINDS]),
    name: Type.String({
      description:
        "As the code named it; of a `child_run` the task, of an `output` or `input` the stream, of a token `token`, of a `state` `get` or `set`.",
    }),
    attempt_number: Type.Integer({ description: "The attempt that made the call." }),
    value: {
      ...JsonValue,
      description:
        "What the call gave: the result of a step, the drawn `value`; of a wait for a token `{status, data}`, for a run `{status, output, failure}`, " +
        "for input the record, for a message `{interrupted}`; of a token, a child run or an exec its `id`; of a `state` its `version`, and `state` where the run read it.",
    },
    error: Nullable(DurableError),
    wait: Nullable(CallWait),
    at: { ...Timestamp, description: "When the outcome was kept." },
  },
  {
    $id: "RunCall",
    examples: [
      {
        run_id: EXAMPLE_IDS.run,
        position: 1,
        kind: "step",
        name: "fetch the report",
        attempt_number: 1,
        value: { pages: 12 },
        error: null,
        wait: null,
        at: "2026-11-20T09:15:01.204Z",
      },
    ],
  },
);
export type RunCall = Static<typeof RunCall>;

export const ListRunCalls = Type.Object(
  {
    ...pageQuery(),
    position: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: "Only this call." }),
    ),
  },
  { additionalProperties: false },
);
export type ListRunCalls = Static<typeof ListRunCalls>;
