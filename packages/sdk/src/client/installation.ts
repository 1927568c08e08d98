import type { AuditEvent, Worker } from "./resources.ts";
import type { CallOptions, RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { InOrganization } from "./organizations.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { readLines } from "./read-lines.ts";
import { withQuery, type Transport } from "./transport.ts";
import { auditEventShape, workerShape } from "./wire-shapes.ts";

/** Filters of `auditEvents.list()`. */
export type AuditQuery = PageQuery &
  InOrganization & {
    /** Only this action, such as `api_keys.revoke`. */
    action?: string | undefined;
    /** Only events of this user or key. */
    actorId?: string | undefined;
    /** Only events of this resource. */
    resourceId?: string | undefined;
  };

/** `client.workers`, with an admin key. */
export type WorkersApi = {
  /**
   * The workers of the installation.
   *
   * @example
   * ```ts
   * for await (const worker of client.workers.list()) console.log(worker.name, worker.status);
   * ```
   */
  list(
    query?: PageQuery & { status?: string | undefined; workerGroupId?: string | undefined },
    options?: RequestOptions,
  ): PagedList<Worker>;
  /**
   * By its id.
   *
   * @example
   * ```ts
   * const worker = await client.workers.get("wkr_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Worker>;
  /**
   * Lets a worker finish or hand back its runs, and end. Safe to repeat.
   *
   * @example
   * ```ts
   * await client.workers.drain("wkr_01k…");
   * ```
   */
  drain(id: string, options?: RequestOptions): Promise<Worker>;
};

/** `client.auditEvents`, with an admin key. */
export type AuditEventsApi = {
  /**
   * Newest first. Without an organization: the events of the installation.
   *
   * @example
   * ```ts
   * for await (const event of client.auditEvents.list({ action: "api_keys.revoke" })) console.log(event.id);
   * ```
   */
  list(query?: AuditQuery, options?: RequestOptions): PagedList<AuditEvent>;
  /**
   * A whole chain, oldest first: each event as the text of its JSON, which its digest is of. `cursor` is the sequence number
   * to go on after.
   *
   * @example
   * ```ts
   * for await (const line of client.auditEvents.export({ cursor: "4711" })) console.log(line);
   * ```
   */
  export(
    query?: InOrganization & { cursor?: string | undefined },
    options?: CallOptions,
  ): AsyncGenerator<string>;
};

const AUDIT_EVENTS = "/admin/api/v1/audit-events";

const workerPath = (id: string, rest = ""): string =>
  `/admin/api/v1/workers/${encodeURIComponent(id)}${rest}`;

export const createWorkersApi = (transport: Transport): WorkersApi => ({
  list: ({ status, workerGroupId, ...query } = {}, options = {}) => {
    const filters = { status, worker_group_id: workerGroupId };
    return listOf(transport, workerShape, "/admin/api/v1/workers", "workers", { ...query, filters }, options);
  },
  get: (id, options = {}) => transport.ask(workerShape, { method: "GET", path: workerPath(id), ...options }),
  drain: (id, options = {}) =>
    transport.ask(workerShape, {
      method: "POST",
      path: workerPath(id, "/drain"),
      repeatable: true,
      ...options,
    }),
});

export const createAuditEventsApi = (transport: Transport): AuditEventsApi => ({
  list: ({ organizationId, action, actorId, resourceId, ...query } = {}, options = {}) => {
    const filters = {
      organization_id: organizationId,
      action,
      actor_id: actorId,
      resource_id: resourceId,
    };
    return listOf(transport, auditEventShape, AUDIT_EVENTS, "audit_events", { ...query, filters }, options);
  },
  export: ({ organizationId, cursor } = {}, options = {}) =>
    exportEvents(transport, { organization_id: organizationId, cursor }, options),
});

async function* exportEvents(
  transport: Transport,
  query: { organization_id: string | undefined; cursor: string | undefined },
  options: CallOptions,
): AsyncGenerator<string> {
  // By a request with retries: what is refused, or cannot be reached, is told before the stream is opened.
  const { organization_id } = query;
  await transport.request({
    method: "GET",
    path: AUDIT_EVENTS,
    query: { organization_id, limit: 1 },
    ...options,
  });
  yield* readLines(transport, withQuery(`${AUDIT_EVENTS}/export`, query), options);
}
