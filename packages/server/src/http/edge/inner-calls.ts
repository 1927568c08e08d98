import type { FastifyInstance } from "fastify";
import { HEADERS } from "@keelson/contract";
import type { RequestFacts, Route } from "./route.ts";

/** A request that a handler makes to a route of its own server, in the name of its caller. */
export type InnerCall = { route: Route; params?: Fields; query?: Fields; body?: Fields };
type Fields = Readonly<Record<string, unknown>>;

export type InnerReply = { status: number; contentType: string; bytes: Buffer };

/**
 * Calls of routes by other routes. Each goes through everything that a request from outside goes through, with the credential
 * of the request that it is made for: who may not do something directly may not do it this way either.
 */
export type InnerCalls = {
  /** A route by the name of its operation. */
  find(operationId: string): Route;
  call(facts: RequestFacts, call: InnerCall): Promise<InnerReply>;
  /** Told once, when there is an app. */
  attach(app: Pick<FastifyInstance, "inject">, routes: readonly Route[]): void;
};

export function createInnerCalls(): InnerCalls {
  let attached: { app: Pick<FastifyInstance, "inject">; routes: ReadonlyMap<string, Route> } | undefined;
  const known = () => {
    if (attached === undefined) throw new Error("Routes are called before there is an app.");
    return attached;
  };
  return {
    attach: (app, routes) => {
      attached = { app, routes: new Map(routes.map((route) => [route.operationId, route])) };
    },
    find: (operationId) => {
      const route = known().routes.get(operationId);
      if (route === undefined) throw new Error(`There is no route ${operationId}.`);
      return route;
    },
    call: async (facts, { route, params = {}, query = {}, body }) => {
      const { authorization, host } = facts.message.headers;
      const { statusCode, headers, rawPayload } = await known().app.inject({
        method: route.method,
        url: urlOf(route, params, query),
        remoteAddress: facts.address,
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...(host !== undefined && { host }),
          [HEADERS.requestId]: facts.requestId,
        },
        ...(body !== undefined && { payload: body }),
      });
      return { status: statusCode, contentType: headers["content-type"] ?? "", bytes: rawPayload };
    },
  };
}

function urlOf({ path }: Route, params: Fields, query: Fields): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
  return search.size === 0 ? filled : `${filled}?${search.toString()}`;
}
