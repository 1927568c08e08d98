import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import type { BundleFormatVersion, CreateDeployment, DeploymentManifest } from "@keelson/contract";
import type { Deployment, DeploymentEvent, UploadedBundle } from "./resources.ts";
import { WORKER_PROTOCOL_VERSION } from "@keelson/contract/plain";
import { toWire, type CamelCased } from "./camel-cased.ts";
import { sleep } from "./clock.ts";
import { TimeoutError } from "./errors.ts";
import { fetchPage, listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { RequestOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import {
  deploymentEventShape,
  deploymentManifestShape,
  deploymentShape,
  uploadedBundleShape,
} from "./wire-shapes.ts";

/** The content of a deployment; `keelson deploy` creates all of it. */
export type NewDeployment = Pick<CamelCased<CreateDeployment>, "git"> & {
  /**
   * The declarations of the bundle. The bundle's own manifest, which has the spelling of the HTTP API, is accepted too.
   */
  manifest: CamelCased<DeploymentManifest> | DeploymentManifest;
  /** SHA-256 of the bundle's code, or of an archive's index, as hexadecimal text. */
  bundleDigest: string;
  /** 1 for one module, which is the default; 2 for an archive. */
  bundleFormatVersion?: BundleFormatVersion;
  /**
   * Of an archive, as its index says: with it, a refusal says that no worker can run the archive before you upload it.
   */
  nodeVersion?: string;
  /** Of an archive, as its index says. Default: it has no native code. */
  platform?: CreateDeployment["platform"];
};

/** `client.deployments`. */
export type DeploymentsApi = {
  /**
   * Stores a bundle, or a file of an archive, under its SHA-256 in hexadecimal. Storing it again changes nothing.
   *
   * @example
   * ```ts
   * import { createHash } from "node:crypto";
   * import { readFile } from "node:fs/promises";
   *
   * const code = await readFile("dist/bundle.mjs");
   * await client.deployments.uploadBundle(createHash("sha256").update(code).digest("hex"), code);
   * ```
   */
  uploadBundle(digest: string, code: Uint8Array, options?: RequestOptions): Promise<UploadedBundle>;
  /**
   * Creates a deployment of an uploaded bundle, without making it current. Rejects with a ConflictError
   * `bundle_missing`, whose `details.missing` lists the digests that are not uploaded.
   *
   * @example
   * ```ts
   * const manifest = { tasks: [{ id: "report" }] };
   * const deployment = await client.deployments.create({ manifest, bundleDigest: "9f86d081…" });
   * ```
   */
  create(deployment: NewDeployment, options?: RequestOptions): Promise<Deployment>;
  /**
   * All versions, newest first.
   *
   * @example
   * ```ts
   * for await (const deployment of client.deployments.list()) console.log(deployment.version, deployment.status);
   * ```
   */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Deployment>;
  /**
   * One version. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const deployment = await client.deployments.get("dep_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Deployment>;
  /**
   * The environment's current deployment; rejects with a NotFoundError before the first promotion.
   *
   * @example
   * ```ts
   * const { version, tasks } = await client.deployments.current();
   * ```
   */
  current(options?: RequestOptions): Promise<Deployment>;
  /**
   * Oldest first.
   *
   * @example
   * ```ts
   * for await (const event of client.deployments.events("dep_01k…")) console.log(event.kind);
   * ```
   */
  events(id: string, options?: RequestOptions & { cursor?: string }): AsyncGenerator<DeploymentEvent>;
  /**
   * Waits until a worker has loaded the deployment or failed to load it (`status` `ready` or `failed`). Rejects with a
   * TimeoutError after `timeout`.
   *
   * @example
   * ```ts
   * const { status, error } = await client.deployments.waitUntilChecked("dep_01k…", { timeout: "1m" });
   * ```
   */
  waitUntilChecked(
    id: string,
    options?: { timeout?: DurationInput; signal?: AbortSignal },
  ): Promise<Deployment>;
  /**
   * Makes the deployment current. To roll back, promote an older one.
   *
   * @example
   * ```ts
   * await client.deployments.promote("dep_01k…");
   * ```
   */
  promote(id: string, options?: RequestOptions): Promise<Deployment>;
};

const CHECK_POLL_MS = 100;
const UPLOAD_TIMEOUT_MS = 120_000;

const item = (id: string): string => `/v1/deployments/${encodeURIComponent(id)}`;

function toWireDeployment({
  manifest,
  git,
  bundleDigest,
  bundleFormatVersion = 1,
  nodeVersion,
  platform,
}: NewDeployment): CreateDeployment {
  return {
    manifest: toWire(deploymentManifestShape, manifest),
    bundle_digest: bundleDigest,
    bundle_format_version: bundleFormatVersion,
    worker_protocol_version: WORKER_PROTOCOL_VERSION,
    ...(nodeVersion !== undefined && { node_version: nodeVersion }),
    ...(platform !== undefined && { platform }),
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
    const { items, nextCursor } = await fetchPage(
      transport,
      deploymentEventShape,
      `${item(id)}/events`,
      "events",
      {
        query: { cursor: after },
        ...options,
      },
    );
    yield* items;
    after = items.length === 0 ? undefined : (nextCursor ?? undefined);
  } while (after !== undefined);
}

/** A check takes a fraction of a second, so asking again is as quick as a stream and needs no second path. */
async function untilChecked(
  get: () => Promise<Deployment>,
  { timeout = "1m", signal }: { timeout?: DurationInput; signal?: AbortSignal },
): Promise<Deployment> {
  const timeoutMs = toMilliseconds(timeout, "timeout");
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
    transport.ask(deploymentShape, { method: "GET", path: item(id), ...options });
  return {
    get,
    uploadBundle: (digest, code, options = {}) =>
      transport.ask(uploadedBundleShape, {
        method: "PUT",
        path: `/v1/deployment-bundles/${digest}`,
        body: { bytes: code },
        requestTimeout: UPLOAD_TIMEOUT_MS,
        ...options,
      }),
    create: (deployment, options = {}) =>
      transport.ask(deploymentShape, {
        method: "POST",
        path: "/v1/deployments",
        body: { json: toWireDeployment(deployment) },
        ...options,
      }),
    list: (query = {}, options = {}) =>
      listOf(transport, deploymentShape, "/v1/deployments", "deployments", query, options),
    current: (options = {}) =>
      transport.ask(deploymentShape, { method: "GET", path: "/v1/deployments/current", ...options }),
    events: (id, options = {}) => readEvents(transport, id, options),
    waitUntilChecked: (id, options = {}) =>
      untilChecked(() => get(id, options.signal === undefined ? {} : { signal: options.signal }), options),
    promote: (id, options = {}) =>
      transport.ask(deploymentShape, {
        method: "POST",
        path: `${item(id)}/promote`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}
