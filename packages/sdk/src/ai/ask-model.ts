import {
  convertToModelMessages,
  DownloadError,
  streamText,
  toUIMessageStream,
  type ModelMessage,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import type { RunContext } from "../context.ts";
import type { OutputMessage } from "../output-message.ts";
import { applyChunks } from "./apply-chunks.ts";
import { loadFiles, withoutUnread } from "./chat-files.ts";
import { toConversation } from "./chat-history.ts";
import { modelOf, type AnswerOptions } from "./chat-options.ts";
import { countUsage, type ModelCall } from "./model-usage.ts";

const MAX_HISTORY = 200;

type Asking = {
  message: OutputMessage;
  /** As far as it has come. */
  answer: UIMessage;
  tools: ToolSet;
  sessionId: string;
  ctx: RunContext;
  options: AnswerOptions;
};

const OURS = new Set(["execute", "needsApproval"]);

/** The model only says which to call: who calls them, and asks for approval, is the run. */
const withoutExecute = (tools: ToolSet): ToolSet =>
  Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [
      name,
      Object.fromEntries(Object.entries(tool).filter(([key]) => !OURS.has(key))) as ToolSet[string],
    ]),
  );

/**
 * One call of the model, inside of a step: its chunks go to the readers as they come. What was said before is read here and not kept in the
 * journal, which so does not grow with the conversation.
 *
 * @returns the parts that it adds to the answer. Throws what the provider throws.
 */
export async function askModel(asking: Asking): Promise<UIMessage["parts"]> {
  const { message, answer, tools, sessionId, ctx } = asking;
  const said = await loadFiles(ctx.client.sessions.files, sessionId, await readHistory(asking));
  async function* chunks(signal: AbortSignal): AsyncGenerator<UIMessageChunk> {
    for (const unread = new Set<string>(); ;) {
      const messages = await convertToModelMessages([...withoutUnread(said, unread), answer], {
        tools,
        ignoreIncompleteToolCalls: true,
      });
      try {
        yield* callModel(asking, messages, signal);
        return;
      } catch (error) {
        // Before the first chunk. What a page has linked to may be gone by now: the answer is written without it.
        if (signal.aborted || !DownloadError.isInstance(error) || unread.has(error.url)) throw error;
        unread.add(error.url);
      }
    }
  }
  const taken = await message.pipe(({ signal }) => chunks(signal));
  const { parts } = await applyChunks(answer, [...(taken as UIMessageChunk[])]);
  return parts.slice(answer.parts.length);
}

/** Gives the chunks of the model's answer to these messages. Throws what the provider throws. */
async function* callModel(
  { tools, options, ctx }: Asking,
  messages: ModelMessage[],
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk> {
  const failed: { error?: unknown } = {};
  const calls: ModelCall[] = [];
  const { stream } = streamText({
    ...options.settings,
    ...(options.instructions !== undefined && { instructions: options.instructions }),
    model: modelOf(options, ctx),
    messages,
    tools: withoutExecute(tools),
    abortSignal: signal,
    // The step is tried again.
    maxRetries: 0,
    onStepEnd: (call) => void calls.push(call),
    onError: ({ error }) => void (failed.error = error),
  });
  const all = toUIMessageStream({ stream, tools, sendStart: false, sendFinish: false, sendSources: true });
  try {
    for await (const chunk of all as unknown as AsyncIterable<UIMessageChunk>) {
      if (chunk.type === "error")
        throw failed.error instanceof Error ? failed.error : new Error(chunk.errorText);
      if (chunk.type !== "abort") yield chunk;
    }
  } finally {
    for (const call of calls) countUsage(call, ctx, options);
  }
}

/** What was said before this answer. */
async function readHistory({ sessionId, options, ctx }: Asking): Promise<UIMessage[]> {
  const { maxHistory = MAX_HISTORY } = options;
  const rows = [];
  const list = ctx.client.sessions.messages(sessionId, {
    stream: "output",
    limit: Math.min(maxHistory + 1, 200),
  });
  for await (const row of list) {
    if (rows.push(row) > maxHistory) break;
  }
  return toConversation(rows);
}
