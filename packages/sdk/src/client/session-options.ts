import type { CreateSession, StartActor, UpdateSession } from "@keelson/contract";
import type { InputOf } from "../task.ts";
import type { CallOptions, RequestOptions } from "./exchange.ts";
import { toWireStart, type StartOptions } from "./start-options.ts";
import { toWireTime } from "./time-input.ts";

/**
 * An actor's declaration, or an object with its id. `Input` is the type of the records in its stream `input`, `Emitted`
 * of those in its stream `output`, and `Kept` of the state of its sessions.
 */
export type ActorLike<Input = unknown, Emitted = unknown, Kept = unknown> = {
  /** Tells it from a task. */
  readonly kind: "actor";
  /** Its declared id. */
  readonly id: string;
  readonly "~types"?: {
    readonly input: Input;
    readonly output: unknown;
    readonly emitted: Emitted;
    readonly state: Kept;
  };
};

/** The type of the records that a stream takes: the declared input in `input`, and any type in other streams. */
export type SentTo<A, Stream> = Stream extends "input" ? InputOf<A> : unknown;

export type ExpiresAt = Date | string | null;

/**
 * The options of a new session of a task or an actor. `metadata` and `tags` belong to the session. The other options of
 * a start are for every turn, except `delay`, `startAt` and `idempotencyKey`, which are for the first run.
 */
export type NewSession<
  T extends TaskLike | string = TaskLike | string,
  A extends ActorLike | string = ActorLike | string,
> = StartOptions & {
  /** Unique among the environment's open sessions: a repeated creation returns the open session. 1 to 256 bytes. */
  externalId?: string;
  /** When the session ends on its own. Default: never. */
  expiresAt?: ExpiresAt;
} & (
    | {
        task: T;
        actor?: never;
        /** The payload of the first run. */
        payload?: InputOf<T>;
        /** The first record of stream `input`. */
        input?: unknown;
      }
    | {
        actor: A;
        task?: never;
        /** The payload of the first run. */
        payload?: unknown;
        /** The first record of stream `input`. */
        input?: InputOf<A>;
      }
  );

type TaskLike = { readonly id: string };

/** The fields of a session that can be changed. */
export type SessionChanges = {
  /** In place of all metadata there is. */
  metadata?: Record<string, unknown>;
  /** In place of all tags there are. */
  tags?: readonly string[];
  /** Null: never. */
  expiresAt?: ExpiresAt;
};

/** Options of `sessions.withdraw()`. */
export type WithdrawOptions = RequestOptions & {
  /** The input stream. Default `input`. */
  stream?: string;
};

/** Options of `actors.start()`: of its first run and of its session. */
export type StartActorOptions = StartOptions &
  CallOptions & {
    /** The payload of the first run. */
    payload?: unknown;
    /** Fields of the session; `metadata` and `tags` beside it belong to the first run. */
    session?: SessionChanges & { externalId?: string };
  };

export const idOf = (declared: { readonly id: string } | string): string =>
  typeof declared === "string" ? declared : declared.id;

/** Throws a UsageError for an invalid duration. */
export function toWireSession(session: NewSession): CreateSession {
  const { task, actor, payload, input, externalId, expiresAt } = session;
  return {
    ...toWireStart(payload, session),
    ...(task !== undefined && { task: idOf(task) }),
    ...(actor !== undefined && { actor: idOf(actor) }),
    ...(input !== undefined && { input }),
    ...(externalId !== undefined && { external_id: externalId }),
    ...(expiresAt !== undefined && { expires_at: toWireTime(expiresAt, "expiresAt") }),
  };
}

export const toWireChanges = ({ metadata, tags, expiresAt }: SessionChanges): UpdateSession => ({
  ...(metadata !== undefined && { metadata }),
  ...(tags !== undefined && { tags: [...tags] }),
  ...(expiresAt !== undefined && { expires_at: toWireTime(expiresAt, "expiresAt") }),
});

/** Throws a UsageError for an invalid duration. */
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
