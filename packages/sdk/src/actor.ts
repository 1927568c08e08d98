import type { StandardTypedV1 } from "@standard-schema/spec";
import { DECLARED_ID_PATTERN } from "@keelson/contract/plain";
import { checkSecretNames } from "./check-secret-names.ts";
import type { RunContext } from "./context.ts";
import type { DurationInput } from "./duration-input.ts";
import type { PayloadSchema } from "./payload-schema.ts";
import { registry } from "./registry.ts";
import type { RunSession } from "./session.ts";
import type { TaskOptions } from "./task.ts";

/** What `actor()` is given besides `run` and `input`: a task's options, which hold for each turn. */
export type ActorOptions = TaskOptions & {
  /** `session.input.receive()` gives up after this long without input and returns null. Default: never. */
  idleTimeout?: DurationInput;
};

/** A declared actor: the code of a conversation. `Input` is what its channel `input` takes. */
export type Actor<Id extends string = string, Input = unknown, Output = unknown> = {
  /** Tells it from a task. */
  readonly kind: "actor";
  /** The name that starts and lists use. */
  readonly id: Id;
  /** As they were declared. */
  readonly options: Readonly<ActorOptions>;
  /** The schema of the records of stream `input`; null without one. */
  readonly input: PayloadSchema | null;
  /** The code of a turn. */
  readonly run: (session: RunSession<never>, ctx: RunContext) => unknown;
  /** Types alone; nothing is here at run time. */
  readonly "~types"?: { readonly input: Input; readonly output: Output };
};

/** An actor whatever it takes and gives. */
export type AnyActor = Actor;

type ActorBody<Input, Output> = {
  run: (session: RunSession<Input>, ctx: RunContext) => Output | Promise<Output>;
};

/**
 * Declares an actor. Each session of it has one run at a time: the first starts with the session, and when it has
 * ended the next input starts the next, as the next turn. `run` receives input as long as it likes.
 *
 * `input` is a Standard Schema of the records of stream `input`; a record that does not fit makes `receive()` reject with
 * `InputInvalidError`. Throws a TypeError for an id that cannot be used and an Error for one that is declared twice.
 */
export function actor<const Id extends string, Schema extends StandardTypedV1, Output>(
  options: ActorOptions & { id: Id; input: Schema } & ActorBody<StandardTypedV1.InferOutput<Schema>, Output>,
): Actor<Id, StandardTypedV1.InferInput<Schema>, Awaited<Output>>;
export function actor<const Id extends string, Input = unknown, Output = unknown>(
  options: ActorOptions & { id: Id } & ActorBody<Input, Output>,
): Actor<Id, Input, Awaited<Output>>;
export function actor(
  options: ActorOptions & { input?: PayloadSchema } & ActorBody<never, unknown>,
): AnyActor {
  const { input = null, run, ...rest } = options;
  if (typeof options.id !== "string" || !new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new TypeError(
      `actor(): ${JSON.stringify(options.id)} is not an actor id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  checkSecretNames("actor", options.id, options.secrets);
  if (typeof run !== "function") throw new TypeError(`actor(): "${options.id}" has no run function`);
  const { actors } = registry();
  if (actors.has(options.id))
    throw new Error(`actor(): "${options.id}" is declared twice; each actor needs an id of its own`);
  const declared: AnyActor = Object.freeze({
    kind: "actor" as const,
    id: options.id,
    options: Object.freeze(rest),
    input,
    run,
  });
  actors.set(options.id, declared);
  return declared;
}
