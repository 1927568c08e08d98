import type { CreateSession, StartActor, UpdateSession } from "@keelson/contract";
import type { CallOptions } from "./exchange.ts";
import { toWireStart, type StartOptions } from "./start-options.ts";

/** An actor's declaration, or anything with its id; `Input` is what its stream `input` takes. */
export type ActorLike<Input = unknown> = {
  /** Tells it from a task. */
  readonly kind: "actor";
  /** Its declared id. */
  readonly id: string;
  readonly "~types"?: { readonly input: Input; readonly output: unknown };
};

export type ExpiresAt = Date | string | null;

const timeText = (at: ExpiresAt): string | null => (at instanceof Date ? at.toISOString() : at);

/**
 * What a session is made from: a task or an actor. `metadata` and `tags` are the session's; the other options of a
 * start hold for every turn, except `delay`, `startAt` and `idempotencyKey`, which are the first run's.
 */
export type NewSession = StartOptions & {
  /** The payload of the first run. */
  payload?: unknown;
  /** The first record of stream `input`. */
  input?: unknown;
  /** Unique among the environment's open sessions: creating again with it gives the open one. 1 to 256 bytes. */
  externalId?: string;
  /** When the session ends by itself. Default: never. */
  expiresAt?: ExpiresAt;
} & ({ task: { readonly id: string } | string; actor?: never } | { actor: ActorLike | string; task?: never });

/** What of a session can be changed. */
export type SessionChanges = {
  /** In place of all metadata there is. */
  metadata?: Record<string, unknown>;
  /** In place of all tags there are. */
  tags?: readonly string[];
  /** Null: never. */
  expiresAt?: ExpiresAt;
};

/** Options of `actors.start()`: of its first run and of its session. */
export type StartActorOptions = StartOptions &
  CallOptions & {
    /** The payload of the first run. */
    payload?: unknown;
    /** What the session gets; `metadata` and `tags` beside it are the first run's. */
    session?: SessionChanges & { externalId?: string };
  };

export const idOf = (declared: { readonly id: string } | string): string =>
  typeof declared === "string" ? declared : declared.id;

/** Throws a RangeError for a duration that is none. */
export function toWireSession(session: NewSession): CreateSession {
  const { task, actor, payload, input, externalId, expiresAt } = session;
  return {
    ...toWireStart(payload, session),
    ...(task !== undefined && { task: idOf(task) }),
    ...(actor !== undefined && { actor: idOf(actor) }),
    ...(input !== undefined && { input }),
    ...(externalId !== undefined && { external_id: externalId }),
    ...(expiresAt !== undefined && { expires_at: timeText(expiresAt) }),
  };
}

export const toWireChanges = ({ metadata, tags, expiresAt }: SessionChanges): UpdateSession => ({
  ...(metadata !== undefined && { metadata }),
  ...(tags !== undefined && { tags: [...tags] }),
  ...(expiresAt !== undefined && { expires_at: timeText(expiresAt) }),
});

/** Throws a RangeError for a duration that is none. */
export function toWireActorStart(input: unknown, options: StartActorOptions): StartActor {
  const { payload, session } = options;
  return {
    ...toWireStart(payload, options),
    ...(input !== undefined && { input }),
    ...(session !== undefined && {
      session: {
        ...toWireChanges(session),
        ...(session.externalId !== undefined && { external_id: session.externalId }),
      },
    }),
  };
}
