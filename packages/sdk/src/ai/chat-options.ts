import type { LanguageModel, LanguageModelCallOptions, streamText, ToolSet, UIMessage } from "ai";
import type { RunContext } from "../context.ts";
import type { DurationInput } from "../duration-input.ts";
import type { RetryOptions } from "../retry-options.ts";
import type { UsedModel } from "../runtime/run-usage.ts";

/** What the assistant wants to do. */
export type AskedCall = {
  /** The tool's name. */
  toolName: string;
  /** Tells it from all other calls of the answer. */
  toolCallId: string;
  /** As the tool's `inputSchema` has passed it. */
  input: unknown;
};

/** How an answer is made. */
export type AnswerOptions = {
  /** A model of the AI SDK, or a function that makes one, for example with a key from `ctx.secrets`. */
  model: LanguageModel | ((ctx: RunContext) => LanguageModel);
  /** What the model is told before the conversation. */
  instructions?: string;
  /**
   * Tools of the AI SDK, or a function that makes them. Each call is a step of the run, so one that has finished is not done again; see
   * `idempotencyKeyOf()` for one that was interrupted. Calls of one turn of the model run at the same time.
   */
  tools?: ToolSet | ((ctx: RunContext) => ToolSet);
  /**
   * Which tools wait until a person approves: their names, or a function. Besides those with `needsApproval`. Default: none.
   */
  approval?: readonly string[] | ((call: AskedCall) => boolean | Promise<boolean>);
  /** An approval that nobody gives in this time is denied. Default 24 h. */
  approvalTimeout?: DurationInput;
  /** How often the model may be asked for one answer. Default 20. */
  maxSteps?: number;
  /** Tries of each call of the model. Default: 3, the first pause 1 s. */
  modelRetry?: RetryOptions;
  /** Tries of each call of a tool. Default: one. */
  toolRetry?: RetryOptions;
  /** Newest messages of the conversation that the model is given. Default 200. */
  maxHistory?: number;
  /** What a call of the model has cost, in US dollars. The run's usage has it then, besides the tokens. */
  costOf?: (used: UsedModel) => number;
  /** More settings of the model's calls, such as `temperature`, `maxOutputTokens` and `providerOptions`. */
  settings?: ModelSettings;
  /** What the page shows when no answer can be had. Default: a sentence that says to try again. Nothing else of the error reaches it. */
  errorText?: (error: unknown) => string;
};

/** What is passed on to `streamText` of the AI SDK. */
export type ModelSettings = LanguageModelCallOptions &
  Pick<Parameters<typeof streamText>[0], "headers" | "providerOptions">;

export const modelOf = ({ model }: AnswerOptions, ctx: RunContext): LanguageModel =>
  typeof model === "function" ? model(ctx) : model;

export const toolsOf = ({ tools = {} }: AnswerOptions, ctx: RunContext): ToolSet =>
  typeof tools === "function" ? tools(ctx) : tools;

/** An answer as it has come out. */
export type Answered = {
  /** As pages have it. */
  message: UIMessage;
  /** `failed`: the model could not be reached. */
  status: "complete" | "failed" | "interrupted";
};
