import type { CreateDeployment, Deployment, DeploymentEvent, UploadedBundle } from "@keelson/contract";
import { BUNDLE_FORMAT_VERSION, WORKER_PROTOCOL_VERSION } from "@keelson/contract/plain";
import { sleep } from "./clock.ts";
import { TimeoutError } from "./errors.ts";
import { createPagedList, type PagedList, type PageQuery } from "./paged-list.ts";
import type { RequestOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";

/** What a deployment is made from; `keelson deploy` makes all of it. */
export type NewDeployment = Pick<CreateDeployment, "manifest" | "git"> & {
  /** SHA-256 of the bundle's code, as hexadecimal text. */
  bundleDigest: string;
};

/** `client.deployments`. */
export type DeploymentsApi = {
  /** Stores a bundle under its SHA-256 in hexadecimal. Storing it again changes nothing. */
  uploadBundle(digest: string, code: Uint8Array, options?: RequestOptions): Promise<UploadedBundle>;
  /** Makes a deployment of an uploaded bundle. It does not become current by that. */
  create(deployment: NewDeployment, options?: RequestOptions): Promise<Deployment>;
  /** All versions, newest first. */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Deployment>;
  /** One version; a NotFoundError when there is none. */
  get(id: string, options?: RequestOptions): Promise<Deployment>;
  /** The environment's current deployment; rejects with a NotFoundError before the first promotion. */
  current(options?: RequestOptions): Promise<Deployment>;
  /** Oldest first. */
  events(id: string, options?: RequestOptions & { cursor?: string }): AsyncGenerator<DeploymentEvent>;
  /** The deployment once a worker has loaded it or could not (`status` `ready` or `failed`). Rejects with a TimeoutError after `timeoutMs`. */
  waitUntilChecked(id: string, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Deployment>;
  /** Makes the deployment current. Promoting an older one is the way back. */
  promote(id: string, options?: RequestOptions): Promise<Deployment>;
};

const CHECK_POLL_MS = 100;
const UPLOAD_TIMEOUT_MS = 120_000;

const item = (id: string): string => `/v1/deployments/${encodeURIComponent(id)}`;

function toWireDeployment({ manifest, git, bundleDigest }: NewDeployment): CreateDeployment {
  return {
    manifest,
    bundle_digest: bundleDigest,
    bundle_format_version: BUNDLE_FORMAT_VERSION,
    worker_protocol_version: WORKER_PROTOCOL_VERSION,
    ...(git !== undefined && { git }),
  };
}

async function* readEvents(
  transport: Transport,
  id: string,
  { cursor, ...options }: RequestOptions & { cursor?: string },
): AsyncGenerator<DeploymentEvent> {
  let after = cursor;
  do {
    const page = await transport.request<{ events: DeploymentEvent[]; next_cursor: string | null }>({
      method: "GET",
      path: `${item(id)}/events`,
      query: { cursor: after },
      ...options,
    });
    yield* page.events;
    after = page.events.length === 0 ? undefined : (page.next_cursor ?? undefined);
  } while (after !== undefined);
}

/** A check takes a fraction of a second, so asking again is as quick as a stream and needs no second path. */
async function untilChecked(
  get: () => Promise<Deployment>,
  { timeoutMs = 60_000, signal }: { timeoutMs?: number; signal?: AbortSignal },
): Promise<Deployment> {
  for (let waitedMs = 0; ; waitedMs += CHECK_POLL_MS) {
    const deployment = await get();
    if (deployment.status !== "pending") return deployment;
    if (waitedMs >= timeoutMs) {
      const message = `Deployment ${deployment.version} was not checked within ${timeoutMs} ms; is a worker running?`;
      throw new TimeoutError({ code: "timeout", message });
    }
    await sleep(CHECK_POLL_MS, signal);
  }
}

export function createDeploymentsApi(transport: Transport): DeploymentsApi {
  const get = (id: string, options: RequestOptions = {}): Promise<Deployment> =>
    transport.request({ method: "GET", path: item(id), ...options });
  return {
    get,
    uploadBundle: (digest, code, options = {}) =>
      transport.request({
        method: "PUT",
        path: `/v1/deployment-bundles/${digest}`,
        body: { bytes: code },
        timeoutMs: UPLOAD_TIMEOUT_MS,
        ...options,
      }),
    create: (deployment, options = {}) =>
      transport.request({
        method: "POST",
        path: "/v1/deployments",
        body: { json: toWireDeployment(deployment) },
        ...options,
      }),
    list: (query = {}, options = {}) =>
      createPagedList(async (cursor) => {
        const page = await transport.request<{ deployments: Deployment[]; next_cursor: string | null }>({
          method: "GET",
          path: "/v1/deployments",
          query: { limit: query.limit, cursor },
          ...options,
        });
        return { items: page.deployments, next_cursor: page.next_cursor };
      }, query.cursor),
    current: (options = {}) =>
      transport.request({ method: "GET", path: "/v1/deployments/current", ...options }),
    events: (id, options = {}) => readEvents(transport, id, options),
    waitUntilChecked: (id, options = {}) =>
      untilChecked(() => get(id, options.signal === undefined ? {} : { signal: options.signal }), options),
    promote: (id, options = {}) =>
      transport.request({
        method: "POST",
        path: `${item(id)}/promote`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}
