import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { BodyProgress } from "./body-deadline.ts";

/** An open connection, with the last request on it. */
export type Connection = {
  readonly socket: Socket;
  /** The peer is a trusted proxy: each request on it is another caller's. */
  readonly isProxy: boolean;
  /** Whom it is counted as. */
  address: string;
  /** A valid credential came on it; behind a proxy, with its last request. */
  isProven: boolean;
  /** When it was opened or its last request began, in monotonic milliseconds. */
  since: number;
  message: IncomingMessage | null;
  response: ServerResponse | null;
  /** The last request is an upload, which has to come faster than other bodies. */
  isUpload: boolean;
  /** Of the last request's body, while it is incomplete. */
  progress: BodyProgress | null;
};

/** The last request has arrived, and its answer is not out yet. */
export const isAnswering = ({ message, response }: Connection): boolean =>
  message !== null && message.complete && response?.writableFinished === false;

/** Nothing is asked for on it: its next request has not begun, or not brought its headers. */
export const isIdle = ({ message, response }: Connection): boolean =>
  message === null || (message.complete && response?.writableFinished !== false);
