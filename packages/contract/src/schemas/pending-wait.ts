import { Type, type Static } from "typebox";
import { WAIT_KINDS } from "../sessions.ts";
import { Id, Nullable, Timestamp } from "./primitives.ts";

/** What a live run waits for, as the run shows it. */
export const PendingWait = Type.Object(
  {
    id: Id("wait"),
    kind: Type.Enum([...WAIT_KINDS]),
    name: Type.String(),
    token_id: Nullable(Id("tok")),
    stream: Nullable(Type.String()),
    run_id: Nullable(Id("run")),
    timeout_at: Nullable(Timestamp),
    created_at: Timestamp,
  },
  { $id: "PendingWait" },
);
export type PendingWait = Static<typeof PendingWait>;
