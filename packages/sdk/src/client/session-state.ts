import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { withKey } from "./automatic-key.ts";
import { callOptions, type CallOptions, type RequestOptions } from "./exchange.ts";
import type { SessionState } from "./resources.ts";
import { sessionPath, type SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";
import { sessionStateShape } from "./wire-shapes.ts";

/** The type of the state of the actor's sessions, as JSON keeps it. */
export type StateOf<A> = A extends { readonly "~types"?: { readonly state: infer State } } ? State : unknown;

/** The state of a session, its value as the actor declares it; null while it was never set. */
export type StateOfSession<A> = Omit<SessionState, "state"> & {
  /** Null while it was never set. Nobody checks that it fits the actor's schema. */
  state: StateOf<A> | null;
};

/** Options of `setState()`. */
export type SetStateCallOptions = CallOptions & {
  /** Set only when the state still has this version; 0 where it was never set. Default: overwrite it. */
  ifVersion?: number;
  /** A second call with the same key and value gives the first one's result. Default: each call has a key of its own. */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

export const readState = (
  transport: Transport,
  session: SessionTarget,
  options: RequestOptions,
): Promise<SessionState> =>
  transport.ask(sessionStateShape, {
    method: "GET",
    path: sessionPath("/api", session, "/state"),
    ...options,
  });

/** JSON has no undefined: the state is null then. */
export function writeState(
  transport: Transport,
  session: SessionTarget,
  state: unknown,
  options: SetStateCallOptions,
): Promise<SessionState> {
  const { ifVersion, idempotencyKey, idempotencyKeyTtl } = withKey(options, transport.config);
  const json = {
    state: state === undefined ? null : state,
    ...(ifVersion !== undefined && { if_version: ifVersion }),
    idempotency_key: idempotencyKey,
    ...(idempotencyKeyTtl !== undefined && {
      idempotency_key_ttl: toWireDuration(idempotencyKeyTtl, "idempotencyKeyTtl"),
    }),
  };
  return transport.ask(sessionStateShape, {
    method: "PUT",
    path: sessionPath("/api", session, "/state"),
    body: { json },
    repeatable: true,
    ...callOptions(options),
  });
}
