import type { Secret } from "@keelson/contract";
import type { RequestOptions } from "./exchange.ts";
import { createPagedList, type PagedList, type PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";

/** Names and states of secrets. A value goes in and never comes out; tasks that declare the name get it as `ctx.secrets`. */
export type SecretsApi = {
  /** Gives the name a value: a new secret, or a new version of the one there is, also of a revoked one. */
  set(name: string, value: string, options?: RequestOptions): Promise<Secret>;
  /** Newest first. */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Secret>;
  /** One secret by its name, without its value; a NotFoundError when there is none. */
  get(name: string, options?: RequestOptions): Promise<Secret>;
  /** With all of its values. */
  delete(name: string, options?: RequestOptions): Promise<void>;
  /** A new version of an existing secret, by its id; a ConflictError when it is revoked. */
  rotate(id: string, value: string, options?: RequestOptions): Promise<Secret>;
  /** Destroys its values; the name stays. */
  revoke(id: string, options?: RequestOptions): Promise<Secret>;
};

export function createSecretsApi(transport: Transport): SecretsApi {
  const named = (name: string): string => `/api/secrets/${encodeURIComponent(name)}`;
  const item = (id: string): string => `/v1/secrets/${encodeURIComponent(id)}`;
  return {
    set: (name, value, options = {}) =>
      transport.request({ method: "PUT", path: named(name), body: { json: { value } }, ...options }),
    list: (query = {}, options = {}) =>
      createPagedList(async (cursor) => {
        const page = await transport.request<{ secrets: Secret[]; next_cursor: string | null }>({
          method: "GET",
          path: "/v1/secrets",
          query: { limit: query.limit, cursor },
          ...options,
        });
        return { items: page.secrets, next_cursor: page.next_cursor };
      }, query.cursor),
    get: (name, options = {}) => transport.request({ method: "GET", path: named(name), ...options }),
    delete: async (name, options = {}) => {
      await transport.request({ method: "DELETE", path: named(name), ...options });
    },
    rotate: (id, value, options = {}) =>
      transport.request({
        method: "POST",
        path: `${item(id)}/rotate`,
        body: { json: { value } },
        repeatable: true,
        ...options,
      }),
    revoke: (id, options = {}) =>
      transport.request({
        method: "POST",
        path: `${item(id)}/revoke`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}
