import { Type, type Static } from "typebox";
import { ERROR_CODES, type ErrorCode } from "../error-codes.ts";
import { Nullable } from "./primitives.ts";

/** The body of every failure on every route. */
export const ErrorBody = Type.Object(
  {
    error: Type.Object({
      code: Type.Enum(Object.keys(ERROR_CODES) as ErrorCode[]),
      message: Type.String({ description: "The problem, and what to do next." }),
      details: Nullable(Type.Record(Type.String(), Type.Unknown())),
      request_id: Type.String(),
    }),
  },
  { $id: "Error" },
);
export type ErrorBody = Static<typeof ErrorBody>;
