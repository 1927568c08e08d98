import { Type, type Static } from "typebox";
import { JsonValue } from "./primitives.ts";

/** One change of a run's metadata; changes apply in order. `increment` starts from 0, `append` from an empty list. */
export const MetadataChange = Type.Object(
  {
    op: Type.Enum(["set", "increment", "append", "remove"]),
    key: Type.String({ minLength: 1, maxLength: 256 }),
    value: Type.Optional(JsonValue),
  },
  { additionalProperties: false, $id: "MetadataChange" },
);
export type MetadataChange = Static<typeof MetadataChange>;
