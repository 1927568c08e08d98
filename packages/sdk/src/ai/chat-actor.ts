import { actor, ACTOR_OPTIONS, type Actor, type ActorOptions } from "../actor.ts";
import { checkOptions, type OptionNames } from "../check-options.ts";
import type { RunContext } from "../context.ts";
import type { RunSession } from "../session.ts";
import { readChatInput, type ChatInput } from "./chat-input.ts";
import type { Answered, AnswerOptions } from "./chat-options.ts";
import { streamAnswer } from "./stream-answer.ts";

const IDLE_TIMEOUT = "10m";
/** A turn has one journal; a conversation that goes on for long goes on in another. */
const MESSAGES_PER_TURN = 50;
/** Of the 8 MiB that a journal holds: messages with files, and what tools have given, fill it sooner. */
const BYTES_PER_TURN = 2 * 1024 * 1024;
const NOTHING_SAID = "A message has a text or a file.";

/** The options of `chatActor()`: those of an actor, and how it answers. */
export type ChatActorOptions<Id extends string = string> = ActorOptions &
  AnswerOptions & {
    /** The name by which sessions are started. */
    id: Id;
    /** Called after each answer, in the run, so durable calls can be used. */
    onAnswer?: (answered: Answered, session: RunSession, ctx: RunContext) => unknown;
  };

/**
 * Declares an actor that people chat with by the AI SDK: `KeelsonChatTransport` of `@keelson/sdk/ai/client` is the other end. It
 * answers one message after the other, as `streamAnswer()` does. What is said is in the stream `output`, and nowhere else. A turn ends
 * after `idleTimeout` without a message, by default 10 min, and the next message begins another. `whileBusy` says what a message does that
 * comes while an answer is written: `"enqueue"` (the default) waits for the end of the answer, `"interrupt"` stops it, and `"steer"` is answered
 * when the tools have given what they were called for.
 *
 * Throws a UsageError as `actor()` does.
 */
export const chatActor = <const Id extends string>(
  options: ChatActorOptions<Id>,
): Actor<Id, ChatInput, { answers: number }> =>
  actor({
    idleTimeout: IDLE_TIMEOUT,
    ...ofActor(options),
    run: (session: RunSession, ctx: RunContext) => converse(session, ctx, options),
  }) as Actor<Id, ChatInput, { answers: number }>;

const CHAT_OPTIONS = {
  ...{ model: true, instructions: true, tools: true, approval: true, approvalTimeout: true, maxSteps: true },
  ...{ modelRetry: true, toolRetry: true, maxHistory: true, costOf: true, settings: true, errorText: true },
  onAnswer: true,
} as const satisfies OptionNames<AnswerOptions & Pick<ChatActorOptions, "onAnswer">>;

/** Without those of the answers. An option that neither has is refused with the others named. */
function ofActor<Id extends string>(options: ChatActorOptions<Id>): ActorOptions & { id: Id } {
  checkOptions(`chatActor(): "${options.id}"`, options, { ...ACTOR_OPTIONS, ...CHAT_OPTIONS });
  const own = Object.entries(options).filter(([name]) => !Object.hasOwn(CHAT_OPTIONS, name));
  return Object.fromEntries(own) as ActorOptions & { id: Id };
}

async function converse(
  session: RunSession,
  ctx: RunContext,
  options: ChatActorOptions,
): Promise<{ answers: number }> {
  let answers = 0;
  let bytes = 0;
  for (let received = 0; received < MESSAGES_PER_TURN && bytes < BYTES_PER_TURN; received += 1) {
    const record = await session.input.receive();
    // Idle, or the conversation was closed.
    if (record === null) break;
    bytes += bytesOf(record.data);
    const correlationId = record.correlationId ?? record.id;
    const said = readChatInput(record);
    if (said === null) {
      await refuse(session, correlationId);
      continue;
    }
    await session.output.pipe([said], { correlationId });
    const answered = await streamAnswer(session, ctx, { ...options, correlationId });
    answers += 1;
    bytes += bytesOf(answered.message.parts);
    await options.onAnswer?.(answered, session, ctx);
  }
  return { answers };
}

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value) ?? "").length;

/** Who has sent it waits for an answer. */
async function refuse(session: RunSession, correlationId: string): Promise<void> {
  const message = await session.output.message({ correlationId });
  await message.pipe([{ type: "error", errorText: NOTHING_SAID }]);
  await message.end({ failed: true });
}
