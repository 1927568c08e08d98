import type { RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Message, MessageInterrupted } from "./resources.ts";
import { sessionPath, type SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";
import { messageInterruptedShape, messageShape } from "./wire-shapes.ts";

/** Filters of `messages()`. */
export type MessageQuery = PageQuery & {
  /** Only those in this stream. */
  stream?: string;
  /** Only those that are being written. */
  status?: "open";
};

/** The family of routes that the caller's credential is for. */
type Family = "/api" | "/api/v1";

export const listMessages = (
  transport: Transport,
  family: Family,
  session: SessionTarget,
  { stream, status, ...query }: MessageQuery,
  options: RequestOptions,
): PagedList<Message> =>
  listOf(
    transport,
    messageShape,
    sessionPath(family, session, "/messages"),
    "messages",
    { ...query, filters: { stream, status } },
    options,
  );

export const interruptMessage = (
  transport: Transport,
  family: Family,
  session: SessionTarget,
  messageId: string,
  options: RequestOptions,
): Promise<MessageInterrupted> =>
  transport.ask(messageInterruptedShape, {
    method: "POST",
    path: sessionPath(family, session, "/interrupt"),
    body: { json: { message_id: messageId } },
    repeatable: true,
    ...options,
  });
