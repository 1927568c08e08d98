// One connection of its own, past any pooler: for migrations, backups and LISTEN. Rows are named as those of the pool.

import type pg from "pg";
import { CamelCaseClient } from "./camel-case-client.ts";
import { nameFailure } from "./name-failure.ts";
import { MAKE_SESSION_DURABLE, MAKE_SESSION_READABLE, WITHOUT_LIMITS } from "./session-settings.ts";

export interface SessionOptions {
  readonly url: string;
  readonly applicationName: string;
  /** Default 10 s. */
  readonly connectMs?: number;
  /** How long each statement may take to be answered. Default: without a limit, as migrations and backups last. */
  readonly answerMs?: number;
  readonly types?: pg.CustomTypesConfig;
}

const CONNECT_MS = 10_000;
/** A connection that is idle for so long is probed by the kernel, which gives up after 10 probes without an answer. */
export const KEEP_ALIVE_MS = 5_000;

/** Not yet connected, so that its events can be listened to before. */
export function createSession(options: SessionOptions): pg.Client {
  return new CamelCaseClient({
    connectionString: options.url,
    application_name: options.applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: options.connectMs ?? CONNECT_MS,
    ...(options.answerMs !== undefined && { query_timeout: options.answerMs }),
    ...(options.types !== undefined && { types: options.types }),
  });
}

/** Connects it and has its commits flushed, whatever the database or role is set to. */
export async function connectSession(client: pg.Client): Promise<void> {
  await client.connect();
  try {
    await client.query(`${WITHOUT_LIMITS}; ${MAKE_SESSION_READABLE}; ${MAKE_SESSION_DURABLE}`);
  } catch (error) {
    sever(client);
    throw error;
  }
}

/**
 * Ready for use. A lost connection fails what runs on it.
 *
 * @throws Error of one line that says what to do.
 */
export async function openSession(options: SessionOptions): Promise<pg.Client> {
  const client = createSession(options);
  client.on("error", () => undefined);
  try {
    await connectSession(client);
  } catch (error) {
    throw nameFailure(error, options.url);
  }
  return client;
}

/** Closes the socket at once: saying goodbye waits for an answer that a dead connection never gives. */
export function sever(client: pg.ClientBase): void {
  streamOf(client).destroy();
}

/** How much was ever heard on it. */
export const bytesHeard = (client: pg.ClientBase): number => streamOf(client).bytesRead ?? 0;

/** What is sent before the event loop goes on leaves in one piece. */
export function joinWrites(client: pg.ClientBase): void {
  const stream = streamOf(client);
  stream.cork();
  process.nextTick(() => stream.uncork());
}

type Stream = { destroy(): void; cork(): void; uncork(): void; bytesRead?: number };

/** The driver has the socket, and its pool uses it so; the types leave it out. */
const streamOf = (client: pg.ClientBase): Stream =>
  (client as unknown as { connection: { stream: Stream } }).connection.stream;
