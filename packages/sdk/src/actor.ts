import type { StandardTypedV1 } from "@standard-schema/spec";
import {
  DECLARED_ID_PATTERN,
  SESSION_ON_FAILURE,
  WHILE_BUSY,
  type SessionOnFailure,
  type WhileBusy,
} from "@keelson/contract/plain";
import { checkIsolation } from "./check-isolation.ts";
import { checkOptions, type OptionNames } from "./check-options.ts";
import { checkPermissions } from "./check-permissions.ts";
import { checkSecretNames } from "./check-secret-names.ts";
import type { RunContext } from "./context.ts";
import type { ActorContext } from "./continue-as.ts";
import type { DurationInput } from "./duration-input.ts";
import type { JsonInput, JsonOf } from "./json-type.ts";
import type { PayloadSchema, SentBy } from "./payload-schema.ts";
import { registry } from "./registry.ts";
import type { RunSession } from "./session.ts";
import { ENTRYPOINT_OPTIONS, type TaskOptions } from "./task.ts";
import { UsageError } from "./keelson-error.ts";

/** The options of `actor()` besides `run` and `input`: a task's options, for each turn. */
export type ActorOptions = Omit<TaskOptions, "mcp"> & {
  /** `session.input.receive()` gives up after this long without input and returns null. Default: never. */
  idleTimeout?: DurationInput;
  /**
   * What happens to a session when a turn fails, with no attempts left. `"keep_open"` (the default): the session stays
   * open, `lastFailure` says why the turn failed, and the next input starts the next turn. `"end"`: the session ends as
   * `failed` and takes no more input.
   */
  sessionOnFailure?: SessionOnFailure;
  /**
   * What input does that comes while a turn is live and does not wait for input. `"enqueue"` (the default): the input waits until the turn, or
   * the next one, receives it. `"interrupt"`: it also stops the messages that the turn is writing. `"steer"`: it waits too, and is
   * marked as meant for this turn: `session.input.pending()` shows it with `steer`. `"reject"`: it is refused with `session_busy`, and
   * nothing is appended. A sender can say otherwise for one input.
   */
  whileBusy?: WhileBusy;
};

const OWN_OPTIONS = {
  idleTimeout: true,
  sessionOnFailure: true,
  whileBusy: true,
} as const satisfies OptionNames<Omit<ActorOptions, keyof TaskOptions>>;
export const ACTOR_OPTIONS = {
  ...ENTRYPOINT_OPTIONS,
  ...OWN_OPTIONS,
  ...{ input: true, output: true, state: true, run: true, onFailure: true },
} as const;

/** Throws a UsageError when the value of an option differs from all of these words. */
function checkChoice<T extends string>(id: string, option: string, value: T, choices: readonly T[]): void {
  if (choices.includes(value)) return;
  const [last, ...others] = choices.map((one) => `"${one}"`).reverse();
  throw new UsageError(
    `actor(): "${id}": ${option} is ${JSON.stringify(value)}; it must be ${others.reverse().join(", ")} or ${last ?? ""}`,
  );
}

/**
 * A declared actor: the code of a conversation. `Input` is the type of the records in its stream `input`, `Output` the
 * result of a turn, `Emitted` the type of the records in its stream `output`, and `Kept` that of a session's state.
 */
export type Actor<
  Id extends string = string,
  Input = unknown,
  Output = unknown,
  Emitted = unknown,
  Kept = unknown,
> = {
  /** Tells it from a task. */
  readonly kind: "actor";
  /** The name that starts and lists use. */
  readonly id: Id;
  /** As they were declared. */
  readonly options: Readonly<ActorOptions>;
  /** The schema of the records of stream `input`; null without one. */
  readonly input: PayloadSchema | null;
  /** The schema of the records of stream `output`; null without one. */
  readonly output: StandardTypedV1 | null;
  /** The schema of the state of its sessions; null without one. */
  readonly state: StandardTypedV1 | null;
  /** The code of a turn. */
  readonly run: (session: RunSession<never, never, never, never>, ctx: ActorContext) => unknown;
  /** Called when a turn fails; null without one. */
  readonly onFailure:
    | ((failure: ActorFailure<never, never, never, never>, ctx: RunContext) => unknown)
    | null;
  /** Types alone; nothing is here at run time. */
  readonly "~types"?: {
    readonly input: Input;
    readonly output: Output;
    readonly emitted: Emitted;
    readonly state: Kept;
  };
};

/** An actor with any types. */
export type AnyActor = Actor;

/** The type of the records in the stream `output` of the actor's sessions. */
export type EmittedOf<T> = T extends { readonly "~types"?: { readonly emitted: infer Emitted } }
  ? Emitted
  : unknown;

/** The argument of `onFailure`. */
export type ActorFailure<Input = unknown, Written = unknown, Stored = unknown, State = unknown> = {
  /** As `run` had it. */
  session: RunSession<Input, Written, Stored, State>;
  /** The error that `run` threw last. */
  error: unknown;
};

type ActorBody<Input, Written, Output, Stored, State> = {
  /** The code of a turn. */
  run: (session: RunSession<Input, Written, Stored, State>, ctx: ActorContext) => Output | Promise<Output>;
  /** As a task's `onFailure`, for each turn: called when its code has failed and no attempts are left. */
  onFailure?: (
    failure: ActorFailure<NoInfer<Input>, NoInfer<Written>, NoInfer<Stored>, NoInfer<State>>,
    ctx: RunContext,
  ) => unknown;
};

/**
 * Declares an actor. Each session of it has one run at a time: the first starts with the session, and when it has
 * ended the next input starts the next, as the next turn. `run` receives input as long as it likes.
 *
 * `input` is a Standard Schema of the records of stream `input`; a record that does not fit makes `receive()` reject with
 * `InputInvalidError`. `output` is one of the records of stream `output`; an append that does not fit rejects with
 * `DataInvalidError`, and readers have its type: `client.sessions.open<typeof chat>(id)`. `state` is one of the session's state: its
 * input is what `session.state.set()` takes, its output what `session.state.get()` gives.
 *
 * Throws a UsageError for an invalid id, for an id that is declared twice, and for an option that does not exist.
 */
export function actor<
  const Id extends string,
  In extends StandardTypedV1,
  Output,
  Out extends StandardTypedV1 = StandardTypedV1,
  St extends StandardTypedV1 = StandardTypedV1,
>(
  options: ActorOptions & { id: Id; input: In; output?: Out; state?: St } & ActorBody<
      StandardTypedV1.InferOutput<In>,
      StandardTypedV1.InferInput<Out>,
      Output,
      StandardTypedV1.InferInput<St>,
      StandardTypedV1.InferOutput<St>
    >,
): Actor<
  Id,
  SentBy<In>,
  JsonOf<Awaited<Output>>,
  JsonOf<StandardTypedV1.InferOutput<Out>>,
  JsonOf<StandardTypedV1.InferInput<St>>
>;
export function actor<
  const Id extends string,
  Input = unknown,
  Output = unknown,
  Out extends StandardTypedV1 = StandardTypedV1,
  St extends StandardTypedV1 = StandardTypedV1,
>(
  options: ActorOptions & { id: Id; output?: Out; state?: St } & ActorBody<
      Input,
      StandardTypedV1.InferInput<Out>,
      Output,
      StandardTypedV1.InferInput<St>,
      StandardTypedV1.InferOutput<St>
    >,
): Actor<
  Id,
  JsonInput<Input>,
  JsonOf<Awaited<Output>>,
  JsonOf<StandardTypedV1.InferOutput<Out>>,
  JsonOf<StandardTypedV1.InferInput<St>>
>;
export function actor(
  options: ActorOptions & {
    input?: PayloadSchema;
    output?: StandardTypedV1;
    state?: StandardTypedV1;
  } & ActorBody<never, never, unknown, never, never>,
): AnyActor {
  const { input = null, output = null, state = null, run, onFailure = null, ...rest } = options;
  if (typeof options.id !== "string" || !new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new UsageError(
      `actor(): ${JSON.stringify(options.id)} is not an actor id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  checkOptions(`actor(): "${options.id}"`, options, ACTOR_OPTIONS);
  checkSecretNames("actor", options.id, options.secrets);
  checkPermissions("actor", options.id, options.permissions);
  checkIsolation("actor", options.id, options);
  const { sessionOnFailure = "keep_open", whileBusy = "enqueue" } = options;
  checkChoice(options.id, "sessionOnFailure", sessionOnFailure, SESSION_ON_FAILURE);
  checkChoice(options.id, "whileBusy", whileBusy, WHILE_BUSY);
  if (typeof run !== "function") throw new UsageError(`actor(): "${options.id}" has no run function`);
  const { actors } = registry();
  if (actors.has(options.id))
    throw new UsageError(`actor(): "${options.id}" is declared twice; each actor needs an id of its own`);
  const declared: AnyActor = Object.freeze({
    kind: "actor" as const,
    id: options.id,
    options: Object.freeze(rest),
    input,
    output,
    state,
    run,
    onFailure,
  });
  actors.set(options.id, declared);
  return declared;
}
