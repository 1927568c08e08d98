import { Type, type Static } from "typebox";
import { DurationText } from "./primitives.ts";

/** How often and when a failed attempt is tried again. The delay before attempt n+1 is `min(maximum, initial * factor^(n-1))`, jittered. */
export const RetryPolicy = Type.Object(
  {
    max_attempts: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: "Attempts in all; default 3." }),
    ),
    initial_delay: Type.Optional(DurationText),
    max_delay: Type.Optional(DurationText),
    factor: Type.Optional(Type.Number({ minimum: 1, maximum: 100 })),
    jitter: Type.Optional(
      Type.Boolean({ description: "Spread each delay over 50 to 100 % of itself; default true." }),
    ),
  },
  { additionalProperties: false, $id: "RetryPolicy" },
);
export type RetryPolicy = Static<typeof RetryPolicy>;
