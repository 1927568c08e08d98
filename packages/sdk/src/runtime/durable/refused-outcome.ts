import type { CallRefusal, DurableError, EffectResult } from "@keelson/contract";
import type { Settle } from "./call-promises.ts";
import type { Entry, Outcome } from "./outbox.ts";

/** Refusals that are about what the call says: others end the run, as it cannot go on whatever its code does. */
const OF_CALLS = new Set(["invalid_request", "not_found", "payload_too_large", "stream_direction_mismatch"]);

export const isOfCall = (thrown: unknown): thrown is CallRefusal =>
  thrown instanceof Error && OF_CALLS.has((thrown as Partial<CallRefusal>).code ?? "");

/** What becomes of a call that is on its way: it is settled, its outcome is put in line for the code, or the server does not take it. */
export type Begun<T> = {
  settle: Settle<T>;
  deliver(outcome: EffectResult): void;
  refused(refusal: CallRefusal): void;
};

type Handing = { read(outcome: EffectResult & { error: DurableError }): void; done(): void };

/** What a call has come to that the server did not take: its code handles that, and the journal has it for each replay. */
export function toRefusedOutcome(
  call: Pick<Entry, "position" | "place" | "kind" | "name">,
  { code, message }: CallRefusal,
  { read, done }: Handing,
): Outcome {
  const error = { name: "RefusedError", message, stack: null, code };
  return {
    entry: { ...call, error },
    bytes: message.length,
    deliver: () => read({ value: null, error }),
    done,
  };
}
