import { isToolUIPart, type UIMessage } from "ai";
import { LIMITS, type MessageEnd } from "@keelson/contract/plain";
import type { RunContext } from "../context.ts";
import { StepError } from "../durable-errors.ts";
import type { OutputMessage } from "../output-message.ts";
import type { RunSession } from "../session.ts";
import { applyChunks } from "./apply-chunks.ts";
import { askModel } from "./ask-model.ts";
import { newAnswer } from "./chat-history.ts";
import { isSteering } from "./chat-input.ts";
import { toolsOf, type Answered, type AnswerOptions } from "./chat-options.ts";
import { callsOf, runToolCall } from "./run-tool-call.ts";

const MAX_STEPS = 20;
const MODEL_RETRY = { maxAttempts: 3 } as const;
const ERROR_TEXT = "The answer could not be completed. Please try again.";

/**
 * Answers what was said last in a session's conversation: asks the model, does what it wants to do, and asks again, until it has nothing
 * more to do, or a message waits that is to steer. All of it is one message of the stream `output`, which can be interrupted at any time.
 * Each call of the model and of a tool is a step, so an answer goes on where it was after a crash.
 *
 * @param correlationId of the input that it answers, by which the page finds the answer
 */
export async function streamAnswer(
  session: RunSession,
  ctx: RunContext,
  { correlationId, ...options }: AnswerOptions & { correlationId: string },
): Promise<Answered> {
  const message = await session.output.message({ correlationId });
  const tools = toolsOf(options, ctx);
  let answer = newAnswer(message.id);
  let failed = false;
  const { maxSteps = MAX_STEPS, modelRetry: retry = MODEL_RETRY } = options;
  try {
    for (let steps = 0; steps < maxSteps && !message.interrupted; steps += 1) {
      const asking = { message, answer, tools, sessionId: session.id, ctx, options };
      const parts = (await ctx.step<unknown>("model", () => askModel(asking), {
        retry,
      })) as UIMessage["parts"];
      answer = withParts(answer, parts);
      const told = await Promise.all(
        callsOf(parts).map((call) => runToolCall(call, { message, tools, ctx, options })),
      );
      answer = await applyChunks(answer, told.flat());
      // What nobody has done here, such as a tool of the page, ends the answer too.
      if (!parts.some(isOwnCall) || told.some((chunks) => chunks.length === 0)) break;
      // It stays where it is: the next `receive()` gets it in its order.
      if ((await session.input.pending()).some(isSteering)) break;
    }
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    ctx.logger.error("No answer", { reason: error.message });
    failed = true;
    await message.pipe([{ type: "error", errorText: options.errorText?.(error.cause) ?? ERROR_TEXT }]);
  }
  return { message: answer, status: await end(message, answer, failed) };
}

const withParts = (answer: UIMessage, parts: UIMessage["parts"]): UIMessage => ({
  ...answer,
  parts: [...answer.parts, ...parts],
});

const isOwnCall = (part: UIMessage["parts"][number]): boolean =>
  isToolUIPart(part) && part.providerExecuted !== true;

/** What is too large to be kept as one message is kept as its pieces; and what failed, with what the failed call had said. */
function end(message: OutputMessage, answer: UIMessage, failed: boolean): Promise<MessageEnd> {
  const bytes = new TextEncoder().encode(JSON.stringify(answer)).length;
  return message.end(failed || bytes > LIMITS.journalValueBytes ? { failed } : { data: answer });
}
