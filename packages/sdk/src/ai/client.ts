/** Chats with the AI SDK, the part of the page: the transport of `useChat`. */
export { KeelsonChatTransport, type KeelsonChatOptions } from "./chat-transport.ts";
export { followOthers } from "./follow-others.ts";
export type { AnswerMetadata } from "./chat-history.ts";
export type { ChatInput } from "./chat-input.ts";
export type { FileUploadOptions, UploadContent } from "../client/session-files.ts";
export type { ChatConnection } from "./server.ts";
