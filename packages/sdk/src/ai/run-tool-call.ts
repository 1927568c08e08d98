import { getToolName, isToolUIPart, type Tool, type ToolSet, type UIMessage, type UIMessageChunk } from "ai";
import type { RunContext } from "../context.ts";
import { InterruptedError, StepError, TokenCancelledError, TokenExpiredError } from "../durable-errors.ts";
import type { OutputMessage } from "../output-message.ts";
import { UsageError } from "../keelson-error.ts";
import type { AnswerOptions, AskedCall } from "./chat-options.ts";

/** A property of the options that `execute` is given, besides those of the AI SDK. */
const KEY = "idempotencyKey";

/**
 * The key of a tool's call, from the second argument of its `execute`: the same in each try of the call, and different in every other
 * one. Pass it to the systems that you call, so that they do the work once. Throws a UsageError when no chat calls the tool.
 */
export function idempotencyKeyOf(options: object): string {
  const { [KEY]: key } = options as { [KEY]?: unknown };
  if (typeof key === "string") return key;
  throw new UsageError("idempotencyKeyOf() takes the options of a tool that a chat calls");
}

const APPROVAL_TIMEOUT = "24h";

type Doing = { message: OutputMessage; tools: ToolSet; ctx: RunContext; options: AnswerOptions };

/** What a page needs to approve: the AI SDK carries it along as the approval's descriptor. */
export type ApprovalDescriptor = { publicAccessToken: string };

/** The calls of the parts that wait to be done. */
export const callsOf = (parts: UIMessage["parts"]): AskedCall[] =>
  parts.flatMap((part) =>
    isToolUIPart(part) && part.state === "input-available" && part.providerExecuted !== true
      ? [{ toolName: getToolName(part), toolCallId: part.toolCallId, input: part.input }]
      : [],
  );

/**
 * Does what the assistant wants to do, once a person has approved it where that is needed.
 *
 * @returns the chunks that tell of it, as readers have got them
 */
export async function runToolCall(call: AskedCall, doing: Doing): Promise<UIMessageChunk[]> {
  const { message, tools, ctx, options } = doing;
  const { toolCallId } = call;
  const tool = Object.hasOwn(tools, call.toolName) ? tools[call.toolName] : undefined;
  const execute = tool?.execute;
  if (tool === undefined || execute === undefined) return [];
  const told: UIMessageChunk[] = [];
  const tell = async (chunk: UIMessageChunk): Promise<void> => {
    told.push(...((await message.pipe([chunk])) as UIMessageChunk[]));
  };
  try {
    if ((await needsApproval(tool, call, doing)) && !(await askApproval(call, doing, tell))) return told;
    const output = await ctx.step(
      call.toolName,
      async ({ signal, idempotencyKey }) => {
        const abortSignal = AbortSignal.any([signal, message.signal]);
        const given = { toolCallId, messages: [], abortSignal, context: undefined, [KEY]: idempotencyKey };
        return (await lastOf(await execute(call.input, given))) ?? null;
      },
      { ...(options.toolRetry !== undefined && { retry: options.toolRetry }) },
    );
    await tell({ type: "tool-output-available", toolCallId, output });
  } catch (error) {
    if (error instanceof InterruptedError) return told;
    if (!(error instanceof StepError)) throw error;
    // The model is told, and may do without.
    const { message: errorText } = error.cause as Error;
    await tell({ type: "tool-output-error", toolCallId, errorText });
  }
  return told;
}

/** A tool may give what it has so far before what it has in the end. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const each of output as AsyncIterable<unknown>) last = each;
  return last;
}

async function needsApproval(tool: Tool, call: AskedCall, { ctx, options }: Doing): Promise<boolean> {
  const { approval = [] } = options;
  // What a tool says of itself counts as long as tools can say it.
  // oxlint-disable-next-line typescript/no-deprecated
  const own = tool.needsApproval ?? false;
  if (typeof approval !== "function" && approval.includes(call.toolName)) return true;
  if (typeof approval !== "function" && typeof own !== "function") return own;
  // Code decides, and a replay has to find the same.
  return ctx.step(`${call.toolName} needs approval`, async () => {
    if (typeof approval === "function" && (await approval(call))) return true;
    const { input, toolCallId } = call;
    return typeof own === "function" ? own(input, { toolCallId, messages: [], context: undefined }) : own;
  });
}

/** A token's metadata has a limit; the call itself is in the conversation, whatever its length. */
const MAX_SHOWN_CHARACTERS = 4_000;

/** What the one who decides is shown. */
function questionOf({ toolName, input }: AskedCall): Record<string, unknown> {
  const length = (JSON.stringify(input) ?? "").length;
  const question = `May the assistant call ${toolName}?`;
  return { question, tool: toolName, ...(length <= MAX_SHOWN_CHARACTERS && { input }) };
}

/** Asks, and waits. Meanwhile the run holds no slot, and after a while no process. */
async function askApproval(
  call: AskedCall,
  { ctx, options }: Doing,
  tell: (chunk: UIMessageChunk) => Promise<void>,
): Promise<boolean> {
  const token = await ctx.tokens.create({
    timeout: options.approvalTimeout ?? APPROVAL_TIMEOUT,
    metadata: questionOf(call),
    tags: ["approval"],
  });
  const { toolCallId } = call;
  const approvalId = token.id;
  const approvalDescriptor: ApprovalDescriptor = { publicAccessToken: token.publicAccessToken };
  await tell({ type: "tool-approval-request", approvalId, toolCallId, approvalDescriptor });
  const { approved, reason } = await decisionOf(token);
  await tell({ type: "tool-approval-response", approvalId, approved, ...(reason !== null && { reason }) });
  if (!approved) await tell({ type: "tool-output-denied", toolCallId });
  return approved;
}

/** It is JSON from a browser: nothing but the word itself is a yes. */
async function decisionOf(token: {
  wait(): Promise<unknown>;
}): Promise<{ approved: boolean; reason: string | null }> {
  try {
    const decision = (await token.wait()) as { approved?: unknown; reason?: unknown } | null;
    const reason = typeof decision?.reason === "string" ? decision.reason : null;
    return { approved: decision?.approved === true, reason };
  } catch (error) {
    if (error instanceof TokenExpiredError) return { approved: false, reason: "Nobody decided in time." };
    if (error instanceof TokenCancelledError)
      return { approved: false, reason: "The request was withdrawn." };
    throw error;
  }
}
