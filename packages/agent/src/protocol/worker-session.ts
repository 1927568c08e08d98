import {
  parseDuration,
  WORKER_PROTOCOL_VERSION,
  type MintedWorkerToken,
  type MintWorkerToken,
  type RegisterWorker,
  type Worker,
} from "@keelson/contract";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ServiceError } from "./service-error.ts";
import type { IdentityStore, WorkerIdentity } from "./worker-identity.ts";

/** What a session needs of the wire. */
export type PlainCall = (path: string, body: unknown, bearer: string) => Promise<unknown>;

export type WorkerSession = {
  workerId(): string;
  /** A bearer that the server accepted when it was minted and that has not run out. */
  bearer(): Promise<string>;
  /** Called after a 401 for that bearer; concurrent callers share one minting. */
  renew(refused: string): Promise<string>;
  /** What was kept of the identity is removed. */
  forget(): Promise<void>;
};

type SessionOptions = {
  enrollmentToken: string;
  name: string;
  registration: RegisterWorker;
  call: PlainCall;
  clock: Clock;
  logger: Logger;
  /** Null: nothing outlives the process. */
  identity: IdentityStore | null;
};

type MintBody = Omit<MintWorkerToken, "worker_protocol_version">;

/** The share of a token's life after which it is replaced. */
const REFRESH_AT = 0.8;

/**
 * The worker's identity: taken up again where an earlier process of it left it, else enrolled; its bearer replaced before it
 * runs out. After a sleep that was longer than its bearer's life, the bearer and the enrollment token together say who it is.
 * When the server no longer knows the worker, the agent enrolls again as a new one and the old one's leases end by themselves.
 */
export async function openWorkerSession(options: SessionOptions): Promise<WorkerSession> {
  let worker: Worker;
  let token = "";
  let refreshAt = 0;
  let minting: Promise<string> | null = null;

  const accept = async (minted: MintedWorkerToken): Promise<void> => {
    worker = minted.worker;
    token = minted.token;
    const lifeMs =
      parseDuration(minted.expires_in ?? "") ?? Date.parse(minted.expires_at) - options.clock.now();
    refreshAt = options.clock.monotonic() + Math.max(1_000, lifeMs * REFRESH_AT);
    await options.identity?.save({ workerId: worker.id, token }).catch((err: unknown) => {
      options.logger.warn({ err }, "the worker's identity could not be kept for a restart");
    });
  };

  /** Shows one credential of the body as the bearer too: a router of several cells reads no body, and the server no bearer. */
  const mint = async (body: MintBody): Promise<void> => {
    const request = { ...body, worker_protocol_version: WORKER_PROTOCOL_VERSION };
    const shown = body.enrollment_token ?? body.token ?? "";
    await accept((await options.call("/api/worker/auth/token", request, shown)) as MintedWorkerToken);
  };

  const begin = async (): Promise<string> => {
    await options.call("/worker/v1/register", options.registration, token);
    await options.call("/worker/v1/activate", {}, token);
    return token;
  };

  const enroll = async (): Promise<string> => {
    await mint({ enrollment_token: options.enrollmentToken, name: options.name });
    return begin();
  };

  /** False when the server does not know that worker any more. */
  const renewed = async (identity: WorkerIdentity): Promise<boolean> => {
    const { workerId } = identity;
    const known = { worker_id: workerId, token: identity.token };
    if ((await refusalOf(mint(known))) === null) return true;
    const err = await refusalOf(mint({ ...known, enrollment_token: options.enrollmentToken }));
    if (err === null) return true;
    options.logger.warn(
      { err, workerId },
      "the server no longer accepts this worker; enrolling as a new one",
    );
    return false;
  };

  const remint = async (): Promise<string> =>
    (await renewed({ workerId: worker.id, token })) ? token : enroll();

  const once = (work: () => Promise<string>): Promise<string> => {
    minting ??= work().finally(() => {
      minting = null;
    });
    return minting;
  };

  const former = (await options.identity?.load()) ?? null;
  await (former !== null && (await renewed(former)) ? begin() : enroll());
  return {
    workerId: () => worker.id,
    bearer: () => (options.clock.monotonic() < refreshAt ? Promise.resolve(token) : once(remint)),
    renew: (refused) => (refused === token ? once(remint) : Promise.resolve(token)),
    forget: async () => options.identity?.forget(),
  };
}

/** Null when the call succeeds; rejects when the server could not look at it. */
const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error: unknown) => {
      if (!isRefusal(error)) throw error;
      return error;
    },
  );

/** The server has looked at it and says no; another try is answered the same. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && error.status >= 400 && error.status < 500 && error.status !== 429;
