import { Type, type Static } from "typebox";
import { Nullable } from "./primitives.ts";

/** More than any model takes or any call costs: what is larger is a mistake. */
const MAX_TOKENS = 1_000_000_000_000;
const MAX_COST_USD = 1_000_000;
const MAX_CALLS = 1_000_000;

const Tokens = Type.Integer({ minimum: 0, maximum: MAX_TOKENS });

/** What a run says of its calls of a model. */
export const UsageAmount = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    calls: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CALLS, description: "Default 1." })),
    input_tokens: Type.Optional(Tokens),
    output_tokens: Type.Optional(Tokens),
    cached_input_tokens: Type.Optional(Tokens),
    reasoning_tokens: Type.Optional(Tokens),
    cost_usd: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_COST_USD })),
  },
  {
    additionalProperties: false,
    $id: "UsageAmount",
    examples: [{ model: "example-large", input_tokens: 1200, output_tokens: 310, cost_usd: 0.0042 }],
  },
);
export type UsageAmount = Static<typeof UsageAmount>;

const sums = {
  calls: Type.Integer({ description: "Calls of models." }),
  input_tokens: Type.Integer({ description: "Those that were cached are among them." }),
  output_tokens: Type.Integer({ description: "Those of reasoning are among them." }),
  cached_input_tokens: Type.Integer(),
  reasoning_tokens: Type.Integer(),
  cost_usd: Nullable(
    Type.Number({
      description: "US dollars, to a billionth, of the calls whose cost was said; null when none was.",
    }),
  ),
};

const EXAMPLE_SUMS = {
  calls: 3,
  input_tokens: 5200,
  output_tokens: 640,
  cached_input_tokens: 4096,
  reasoning_tokens: 128,
  cost_usd: 0.0146,
};

/** What calls of models used, in all and by model. */
export const Usage = Type.Object(
  {
    ...sums,
    models: Type.Array(Type.Object({ model: Type.String(), ...sums }, { $id: "ModelUsage" }), {
      description: "The most calls first; at most 100.",
    }),
  },
  {
    $id: "Usage",
    examples: [{ ...EXAMPLE_SUMS, models: [{ model: "example-large", ...EXAMPLE_SUMS }] }],
  },
);
export type Usage = Static<typeof Usage>;
export type ModelUsage = Usage["models"][number];
