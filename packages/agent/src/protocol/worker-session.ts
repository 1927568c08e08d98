import {
  WORKER_PROTOCOL_VERSION,
  type MintedWorkerToken,
  type RegisterWorker,
  type Worker,
} from "@keelson/contract";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import { ServiceError } from "./service-error.ts";

/** What a session needs of the wire; the bearer is null for the call that mints it. */
export type PlainCall = (path: string, body: unknown, bearer: string | null) => Promise<unknown>;

export type WorkerSession = {
  workerId(): string;
  /** A bearer that the server accepted when it was minted and that has not run out. */
  bearer(): Promise<string>;
  /** Called after a 401 for that bearer; concurrent callers share one minting. */
  renew(refused: string): Promise<string>;
};

type SessionOptions = {
  enrollmentToken: string;
  name: string;
  registration: RegisterWorker;
  call: PlainCall;
  clock: Clock;
  logger: Logger;
};

/** The share of a token's life after which it is replaced. */
const REFRESH_AT = 0.8;

/**
 * The worker's identity: enrolled once, its bearer replaced before it runs out. When the server no longer knows the
 * worker (its bearer and id are refused), the agent enrolls again as a new worker and the old one's leases end by themselves.
 */
export async function openWorkerSession(options: SessionOptions): Promise<WorkerSession> {
  let worker: Worker;
  let token = "";
  let refreshAt = 0;
  let minting: Promise<string> | null = null;

  const accept = (minted: MintedWorkerToken) => {
    worker = minted.worker;
    token = minted.token;
    const lifeMs = Date.parse(minted.expires_at) - options.clock.now();
    refreshAt = options.clock.monotonic() + Math.max(1_000, lifeMs * REFRESH_AT);
  };

  const mint = async (body: object): Promise<void> => {
    accept(
      (await options.call(
        "/api/worker/auth/token",
        { ...body, worker_protocol_version: WORKER_PROTOCOL_VERSION },
        null,
      )) as MintedWorkerToken,
    );
  };

  const enroll = async (): Promise<string> => {
    await mint({ enrollment_token: options.enrollmentToken, name: options.name });
    await options.call("/worker/v1/register", options.registration, token);
    await options.call("/worker/v1/activate", {}, token);
    return token;
  };

  const remint = async (): Promise<string> => {
    try {
      await mint({ worker_id: worker.id, token });
      return token;
    } catch (error) {
      if (
        !(error instanceof ServiceError) ||
        error.status < 400 ||
        error.status >= 500 ||
        error.status === 429
      )
        throw error;
      options.logger.warn(
        { err: error, workerId: worker.id },
        "the server no longer accepts this worker; enrolling as a new one",
      );
      return enroll();
    }
  };

  const once = (work: () => Promise<string>): Promise<string> => {
    minting ??= work().finally(() => {
      minting = null;
    });
    return minting;
  };

  await enroll();
  return {
    workerId: () => worker.id,
    bearer: () => (options.clock.monotonic() < refreshAt ? Promise.resolve(token) : once(remint)),
    renew: (refused) => (refused === token ? once(remint) : Promise.resolve(token)),
  };
}
