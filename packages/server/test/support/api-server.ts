// A running server for one test file: its own database, folder and port, and a caller's view of its HTTP interface.

import { createHash } from "node:crypto";
import type { IncomingMessage, RequestOptions } from "node:http";
import { loadConfig, type Config } from "../../src/config.ts";
import { startServer, type RunningServer, type ServerOptions } from "../../src/server.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { checkAnswer } from "./check-answer.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { makeTestFolder, removeTestFolder } from "./test-folder.ts";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // What a route answered is looked into freely by a test.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface CallOptions {
  /** Bearer credential; null sends none. Default: the API key of the first environment. */
  readonly as?: string | null;
  readonly body?: unknown;
  readonly bytes?: Uint8Array;
  readonly headers?: Record<string, string>;
}

export interface ApiServer {
  readonly url: string;
  readonly credentials: RunningServer["credentials"];
  readonly db: Database;
  readonly dataDir: string;
  /** What would have been mailed, as it is printed without SMTP. */
  readonly mails: readonly string[];
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Another server on the same database and folder. Stop it before the first. */
  startReplica(): Promise<{ url: string; call: ApiServer["call"]; stop(): Promise<void> }>;
  stop(): Promise<void>;
}

/** Not imported: see `findCredential`. */
const http = process.getBuiltinModule("node:http");
/** A call by `fetch` takes twice the processor time, and half of a test's is its calls. */
const AGENT = new http.Agent({ keepAlive: true });

/** One for all: replicas of one database must have the same. */
export const TEST_MASTER_KEY = Buffer.alloc(32, "keelson");

export interface ApiServerOptions extends ServerOptions {
  /** Where its tables are; dropped with it. Default: a database of its own on the test run's PostgreSQL. */
  readonly database?: TestDatabase;
  /** Settings other than a test's usual ones. */
  readonly config?: Partial<Config>;
}

/** Starts it with a first environment. Stop it in an `after` hook. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const database = options.database ?? (await createTestDatabase());
  const dataDir = await makeTestFolder();
  const config = {
    host: "127.0.0.1",
    port: 0,
    databaseDirectUrl: null,
    databaseWaitMs: 0,
    databasePoolSize: 6,
    databaseStatementNames: true,
    dataDir,
    publicUrl: null,
    masterKey: TEST_MASTER_KEY,
    cell: null,
    credentials: null,
    // Where no test moves the clock, no machine is so busy that a lease lapses.
    leaseDurationMs: options.clock === undefined ? 300_000 : 15_000,
    parkAfterMs: 30_000,
    drainDelayMs: 0,
    workspaceIdleMs: 600_000,
    rateLimits: { credential: 0, address: 0, failures: 0, logins: 0 },
    quotas: { liveRuns: 0, eventStreams: 1_000, storedBytes: 0 },
    trustedProxies: [],
    addressConnections: 256,
    retention: loadConfig({}).retention,
    packLogsAfterMs: null,
    packRecordsAfterMs: null,
    s3: null,
    smtpUrl: null,
    github: null,
    mailFrom: "Keelson <keelson@example.com>",
    logLevel: "error",
    ...options.config,
    databaseUrl: database.url,
  };
  const mails: string[] = [];
  const start = (): Promise<RunningServer> =>
    startServer(config, {
      print: (text) => void mails.push(text),
      refuseSecondConnection: true,
      ...options,
    });
  const server = await start();
  const db = createDatabase({ url: database.url, poolSize: 2, statementNames: false });
  return {
    url: server.url,
    credentials: server.credentials,
    db,
    dataDir,
    mails,
    call: (method, path, options = {}) => call(server, method, path, options),
    startReplica: async () => {
      const replica = await start();
      return {
        url: replica.url,
        call: (method, path, options = {}) => call(replica, method, path, options),
        stop: () => replica.close(),
      };
    },
    stop: async () => {
      await server.close();
      await db.close();
      await database.drop();
      await removeTestFolder(dataDir);
    },
  };
}

async function call(
  server: RunningServer,
  method: string,
  path: string,
  options: CallOptions,
): Promise<Answer> {
  const credential = options.as === undefined ? server.credentials.api_key : options.as;
  const sent =
    options.bytes ?? (options.body === undefined ? null : Buffer.from(JSON.stringify(options.body)));
  const type = options.bytes === undefined ? "application/json" : "application/octet-stream";
  const headers = {
    ...(sent !== null && { "content-type": type, "content-length": sent.byteLength }),
    ...options.headers,
    ...(credential !== null && { authorization: `Bearer ${credential}` }),
  };
  const { hostname, port, pathname, search } = new URL(server.url + path);
  const target = { host: hostname, port, path: pathname + search };
  const answer = await send({ ...target, method, headers, agent: AGENT }, sent);
  const { status, contentType, text } = answer;
  checkAnswer({ method, path, status, contentType, text });
  return answer;
}

/** As events: streams and iterators over the same take half as much processor again. */
function send(request: RequestOptions, sent: Uint8Array | null): Promise<ReceivedAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = http.request(request, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => resolve(new ReceivedAnswer(incoming, Buffer.concat(chunks))));
    });
    outgoing.on("error", reject);
    outgoing.end(sent ?? undefined);
  });
}

/** Most tests look at a part of it. */
class ReceivedAnswer implements Answer {
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
  readonly #rawHeaders: readonly string[];
  readonly #content: Buffer;
  #headers: Headers | undefined;
  #body: unknown;

  constructor({ statusCode, headers, rawHeaders }: IncomingMessage, content: Buffer) {
    this.status = statusCode ?? 0;
    this.contentType = headers["content-type"] ?? null;
    this.text = content.toString();
    this.#rawHeaders = rawHeaders;
    this.#content = content;
  }

  get headers(): Headers {
    return (this.#headers ??= headersOf(this.#rawHeaders));
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  get body(): any {
    if (this.#body === undefined) {
      const isJson = this.contentType?.startsWith("application/json") ?? false;
      // A HEAD has the type without the content.
      this.#body = isJson && this.text !== "" ? JSON.parse(this.text) : this.#content;
    }
    return this.#body;
  }
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] as string, raw[at + 1] as string);
  return headers;
}

export const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
