import type { DurableError, EffectResult } from "@keelson/contract";
import { RefusedError } from "../../durable-errors.ts";
import { FINAL, RETRY_ADVICE } from "../../retry-advice.ts";

/** What a call is answered that the server refused. */
export type Refused = EffectResult & { error: DurableError };

/** An error of the journal as the code sees it: the same whether it is new or replayed. */
export function toError(error: DurableError): Error {
  if (error.code !== null)
    return Object.assign(new RefusedError(error.code, error.message), { [RETRY_ADVICE]: FINAL });
  const made = new Error(error.message);
  made.name = error.name;
  if (error.stack !== null) made.stack = error.stack;
  return made;
}
