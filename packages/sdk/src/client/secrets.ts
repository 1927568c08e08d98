import type { Secret } from "./resources.ts";
import type { RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { secretShape } from "./wire-shapes.ts";

/** Names and states of secrets. No method returns a value; tasks that declare the name get it as `ctx.secrets`. */
export type SecretsApi = {
  /**
   * Sets the value of a name: creates a secret, or a new version of an existing one, also of a revoked one.
   *
   * @example
   * ```ts
   * await client.secrets.set("MAIL_PASSWORD", "…");
   * ```
   */
  set(name: string, value: string, options?: RequestOptions): Promise<Secret>;
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const secret of client.secrets.list()) console.log(secret.name, secret.status);
   * ```
   */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Secret>;
  /**
   * One secret by its name, without its value. Rejects with a NotFoundError when it does not exist.
   *
   * @example
   * ```ts
   * const secret = await client.secrets.get("MAIL_PASSWORD");
   * ```
   */
  get(name: string, options?: RequestOptions): Promise<Secret>;
  /**
   * With all of its values.
   *
   * @example
   * ```ts
   * await client.secrets.delete("MAIL_PASSWORD");
   * ```
   */
  delete(name: string, options?: RequestOptions): Promise<void>;
  /**
   * Sets a new version of an existing secret, by its id or its name. Rejects with a ConflictError when the secret is
   * revoked.
   *
   * @example
   * ```ts
   * await client.secrets.rotate({ name: "MAIL_PASSWORD" }, "…");
   * ```
   */
  rotate(secret: string | { name: string }, value: string, options?: RequestOptions): Promise<Secret>;
  /**
   * Deletes all values of a secret, by its id or its name. The name stays.
   *
   * @example
   * ```ts
   * await client.secrets.revoke({ name: "MAIL_PASSWORD" });
   * ```
   */
  revoke(secret: string | { name: string }, options?: RequestOptions): Promise<Secret>;
};

export function createSecretsApi(transport: Transport): SecretsApi {
  const named = (name: string): string => `/api/secrets/${encodeURIComponent(name)}`;
  const item = (secret: string | { name: string }): string =>
    typeof secret === "string" ? `/v1/secrets/${encodeURIComponent(secret)}` : named(secret.name);
  return {
    set: (name, value, options = {}) =>
      transport.ask(secretShape, { method: "PUT", path: named(name), body: { json: { value } }, ...options }),
    list: (query = {}, options = {}) =>
      listOf(transport, secretShape, "/v1/secrets", "secrets", query, options),
    get: (name, options = {}) => transport.ask(secretShape, { method: "GET", path: named(name), ...options }),
    delete: async (name, options = {}) => {
      await transport.request({ method: "DELETE", path: named(name), ...options });
    },
    rotate: (secret, value, options = {}) =>
      transport.ask(secretShape, {
        method: "POST",
        path: `${item(secret)}/rotate`,
        body: { json: { value } },
        repeatable: true,
        ...options,
      }),
    revoke: (secret, options = {}) =>
      transport.ask(secretShape, {
        method: "POST",
        path: `${item(secret)}/revoke`,
        body: { json: {} },
        repeatable: true,
        ...options,
      }),
  };
}
