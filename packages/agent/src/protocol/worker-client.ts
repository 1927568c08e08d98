import { API_VERSION, HEADERS, type RegisterWorker } from "@keelson/contract";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { Random } from "../random.ts";
import { openHttpConnection, type HttpRequest } from "./http-connection.ts";
import { retryCalls } from "./retry-calls.ts";
import { ConnectionError, ServiceError, toServiceError } from "./service-error.ts";
import type { IdentityStore } from "./worker-identity.ts";
import { openWorkerSession, type PlainCall, type WorkerSession } from "./worker-session.ts";

const CALL_TIMEOUT_MS = 15_000;
const TRANSFER_TIMEOUT_MS = 120_000;

export type CallOptions = { timeoutMs?: number; signal?: AbortSignal };

/** The worker protocol, one call a request: a refusal throws `ServiceError`, no answer throws `ConnectionError`. */
export type WorkerClient = {
  workerId(): string;
  /** POSTs JSON text to `/worker/v1/<route>`. Not repeated, but for a bearer that ran out. */
  post<T>(route: string, body: string, options?: CallOptions): Promise<T>;
  /** GETs bytes from `/worker/v1/<route>`. */
  download(route: string, options?: CallOptions): Promise<Buffer>;
  /** PUTs bytes to `/worker/v1/<route>`. */
  upload(route: string, bytes: Uint8Array, options?: CallOptions): Promise<void>;
  /** Whether `/worker/v1/<route>` can be read. */
  exists(route: string, options?: CallOptions): Promise<boolean>;
  /** The worker's identity is not to be used again: the server was told that it ends. */
  forget(): Promise<void>;
  close(): void;
};

export type WorkerClientOptions = {
  url: string;
  enrollmentToken: string;
  name: string;
  version: string;
  registration: RegisterWorker;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Where the identity outlives the process; null: every process is a new worker. */
  identity: IdentityStore | null;
  /** Ends the wait for a server that is not up yet. */
  signal: AbortSignal;
};

/** Enrolls, registers and activates; waits for a server that does not answer yet, throws when it refuses. */
export async function openWorkerClient(options: WorkerClientOptions): Promise<WorkerClient> {
  const connection = openHttpConnection(options.url);
  const fixed = {
    [HEADERS.apiVersion]: API_VERSION,
    [HEADERS.clientVersion]: options.version,
    accept: "application/json",
  };

  const exchange = async (
    method: HttpRequest["method"],
    path: string,
    bearer: string,
    body: HttpRequest["body"],
    call: CallOptions,
  ): Promise<Buffer> => {
    const headers = { ...fixed, authorization: `Bearer ${bearer}` };
    const timeoutMs = call.timeoutMs ?? CALL_TIMEOUT_MS;
    const reply = await connection.send({
      method,
      path,
      headers,
      timeoutMs,
      signal: call.signal,
      ...(body === undefined ? {} : { body }),
    });
    if (reply.status >= 200 && reply.status < 300) return reply.body;
    throw toServiceError(reply.status, reply.body.toString(), reply.headers["retry-after"]);
  };

  const plainCall = async (path: string, body: unknown, bearer: string): Promise<unknown> =>
    JSON.parse(
      (await exchange("POST", path, bearer, JSON.stringify(body), { signal: options.signal })).toString(),
    );

  const session = await openSession(options, plainCall).catch((error: unknown) => {
    connection.close();
    throw error;
  });

  const authorized = async (
    method: HttpRequest["method"],
    path: string,
    body: HttpRequest["body"],
    call: CallOptions,
  ): Promise<Buffer> => {
    const bearer = await session.bearer();
    try {
      return await exchange(method, path, bearer, body, call);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.status !== 401) throw error;
      return exchange(method, path, await session.renew(bearer), body, call);
    }
  };

  return { ...toCalls(authorized), ...toIdentity(session), close: () => connection.close() };
}

type Authorized = (
  method: HttpRequest["method"],
  path: string,
  body: HttpRequest["body"],
  call: CallOptions,
) => Promise<Buffer>;

const toIdentity = (session: WorkerSession): Pick<WorkerClient, "workerId" | "forget"> => ({
  workerId: () => session.workerId(),
  forget: () => session.forget(),
});

const toCalls = (authorized: Authorized): Pick<WorkerClient, "post" | "download" | "upload" | "exists"> => ({
  async post<T>(route: string, body: string, call: CallOptions = {}): Promise<T> {
    const reply = await authorized("POST", `/worker/v1/${route}`, body, call);
    return parseReply(reply) as T;
  },
  download: (route, call = {}) =>
    authorized("GET", `/worker/v1/${route}`, undefined, { timeoutMs: TRANSFER_TIMEOUT_MS, ...call }),
  upload: async (route, bytes, call = {}) => {
    await authorized("PUT", `/worker/v1/${route}`, bytes, { timeoutMs: TRANSFER_TIMEOUT_MS, ...call });
  },
  exists: async (route, call = {}) => {
    try {
      await authorized("HEAD", `/worker/v1/${route}`, undefined, call);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.status === 404) return false;
      throw error;
    }
  },
});

function openSession(options: WorkerClientOptions, call: PlainCall): Promise<WorkerSession> {
  const onRetry = (err: unknown, attempt: number) => {
    if (attempt % 5 === 0) options.logger.warn({ err, url: options.url }, "waiting for the server");
  };
  return retryCalls(() => openWorkerSession({ ...options, call }), {
    random: options.random,
    signal: options.signal,
    onRetry,
  });
}

function parseReply(reply: Buffer): unknown {
  if (reply.length === 0) return null;
  try {
    return JSON.parse(reply.toString());
  } catch (cause) {
    // Something between here and the server answered in its place.
    throw new ConnectionError(`The reply is no JSON: ${reply.toString("utf8", 0, 200)}`, { cause });
  }
}
