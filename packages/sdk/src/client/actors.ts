import type { Actor, StartedActor } from "@keelson/contract";
import type { InputOf } from "../task.ts";
import { callOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { idOf, toWireActorStart, type ActorLike, type StartActorOptions } from "./session-options.ts";
import type { Transport } from "./transport.ts";

/** `client.actors`. */
export type ActorsApi = {
  /** The actors of the current deployment. */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Actor>;
  /** By its id (`actor_…`). */
  get(id: string, options?: RequestOptions): Promise<Actor>;
  /**
   * Makes a session of the actor and starts its first run; `input` is the first record of stream `input`. With
   * `session.externalId` of an open session, that session and its current run.
   */
  start<A extends ActorLike = ActorLike>(
    actor: A | string,
    input?: InputOf<A>,
    options?: StartActorOptions,
  ): Promise<StartedActor>;
};

export function createActorsApi(transport: Transport): ActorsApi {
  return {
    list: (query = {}, options = {}) => listOf(transport, "/v1/actors", "actors", query, options),
    get: (id, options = {}) =>
      transport.request({ method: "GET", path: `/v1/actors/${encodeURIComponent(id)}`, ...options }),
    start: (actor, input, options = {}) =>
      transport.request({
        method: "POST",
        path: `/v1/actors/${encodeURIComponent(idOf(actor))}/start`,
        body: { json: toWireActorStart(input, options) },
        repeatable: options.idempotencyKey !== undefined,
        ...callOptions(options),
      }),
  };
}
