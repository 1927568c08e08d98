/**
 * Chats with the AI SDK (`ai`), the part that runs as an actor: answers that are one message, durable from call to call. The page's
 * part is `@keelson/sdk/ai/client`, the backend's `@keelson/sdk/ai/server`.
 */
export { chatActor, type ChatActorOptions } from "./chat-actor.ts";
export { runCommand, type ToolCommandOptions } from "./run-command.ts";
export { idempotencyKeyOf } from "./run-tool-call.ts";
export { streamAnswer } from "./stream-answer.ts";
export type { AnswerMetadata } from "./chat-history.ts";
export type { ChatInput } from "./chat-input.ts";
export type { Answered, AnswerOptions, AskedCall, ModelSettings } from "./chat-options.ts";
