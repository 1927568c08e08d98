import type { AnswerMetadata } from "@keelson/sdk/ai/client";
import type { KeelsonChat } from "@keelson/sdk/ai/react";
import type { FileUIPart, UIMessage } from "ai";

export type ChatMessage = UIMessage<AnswerMetadata>;
export type PageChat = KeelsonChat<ChatMessage>;

/** What a person writes. */
export type Draft = { text: string; files: FileUIPart[] };

/** An answer is being written, or waited for. */
export const isBusy = ({ status }: Pick<PageChat, "status">): boolean =>
  status === "submitted" || status === "streaming";

const wordsOf = (part: ChatMessage["parts"][number]): string[] => (part.type === "text" ? [part.text] : []);

export const textOf = ({ parts }: ChatMessage): string => parts.flatMap(wordsOf).join(" ");

export const filesOf = ({ parts }: ChatMessage): FileUIPart[] => parts.filter((part) => part.type === "file");
