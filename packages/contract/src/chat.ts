/** What a chat of the AI SDK says, for the console and the command line. */
export * from "./chat-chunks.ts";
export * from "./chat-parts.ts";
