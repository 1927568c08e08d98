import type { Actor, StartedActor } from "./resources.ts";
import type { InputOf } from "../task.ts";
import { withKey } from "./automatic-key.ts";
import { callOptions, type RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { idOf, toWireActorStart, type ActorLike, type StartActorOptions } from "./session-options.ts";
import type { Transport } from "./transport.ts";
import { actorShape, startedActorShape } from "./wire-shapes.ts";

/** `client.actors`. */
export type ActorsApi = {
  /**
   * The actors of the current deployment.
   *
   * @example
   * ```ts
   * for await (const actor of client.actors.list()) console.log(actor.id);
   * ```
   */
  list(query?: PageQuery, options?: RequestOptions): PagedList<Actor>;
  /**
   * By its id (`actor_…`).
   *
   * @example
   * ```ts
   * const actor = await client.actors.get("actor_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Actor>;
  /**
   * Makes a session of the actor and starts its first run; `input` is the first record of stream `input`. With
   * `session.externalId` of an open session, that session and its current run.
   *
   * @example
   * ```ts
   * const { session, run } = await client.actors.start("support", { text: "Hello" }, { session: { externalId: "visitor-1" } });
   * ```
   */
  start<A extends ActorLike = ActorLike>(
    actor: A | string,
    input?: InputOf<A>,
    options?: StartActorOptions,
  ): Promise<StartedActor>;
};

export function createActorsApi(transport: Transport): ActorsApi {
  return {
    list: (query = {}, options = {}) => listOf(transport, actorShape, "/v1/actors", "actors", query, options),
    get: (id, options = {}) =>
      transport.ask(actorShape, { method: "GET", path: `/v1/actors/${encodeURIComponent(id)}`, ...options }),
    start: (actor, input, options = {}) =>
      transport.ask(startedActorShape, {
        method: "POST",
        path: `/v1/actors/${encodeURIComponent(idOf(actor))}/start`,
        body: { json: toWireActorStart(input, withKey(options, transport.config)) },
        repeatable: true,
        ...callOptions(options),
      }),
  };
}
