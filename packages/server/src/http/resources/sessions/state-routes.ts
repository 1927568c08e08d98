import { encodeId, SessionState, SetSessionState } from "@keelson/contract";
import { idempotencyExpiry } from "../../../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../../../core/idempotency/with-idempotency.ts";
import { findSessionState } from "../../../core/sessions/session-state-reads.ts";
import { setState, stateText } from "../../../core/sessions/set-state.ts";
import type { StateSource } from "../../../core/sessions/session-state.ts";
import { notFound } from "../../../domain-error.ts";
import { replayedHeader } from "../../edge/keep-reply.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { NAMINGS, queryOf, type Naming } from "./naming.ts";
import { stateFactsJson, stateJson } from "./state-wire.ts";

/** What a session remembers between its turns, for each way to name the session. */

const getRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "GET",
    path: `${naming.item}/state`,
    name: naming.name("getSessionState"),
    summary: "Get a session's state",
    description: `The JSON value that the session remembers between its turns, also once it has ended. While it was never set, \`state\` is null and \`version\` 0.${naming.note}`,
    tag: "Sessions",
    access: { kind: "environment", permission: "sessions.read" },
    params: naming.params,
    query: queryOf(naming),
    responses: { 200: { description: "The state with its version.", schema: SessionState } },
    handle: async ({ server, scope: { environmentId }, params, query }) => {
      const sessionId = await naming.idOf(server.db, { environmentId }, { params, query });
      const state = await findSessionState(server.db, { environmentId, sessionId });
      if (state === null) throw notFound();
      return { status: 200, json: stateJson(stateFactsJson(state), state.value) };
    },
  });

function sourceOf({ caller }: EnvironmentScope): StateSource {
  if (caller.kind === "run")
    return {
      kind: "run",
      id: encodeId("run", caller.id),
      runId: caller.id,
      attemptNumber: caller.attemptNumber,
    };
  const id = encodeId(caller.kind === "api_key" ? "key" : "user", caller.id);
  return { kind: "api", id, runId: null, attemptNumber: null };
}

const setRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "PUT",
    path: `${naming.item}/state`,
    name: naming.name("setSessionState"),
    summary: "Set a session's state",
    description:
      "Replaces the whole value, whose version becomes one higher. With `if_version`, the state must still have that version: of two who read the " +
      "same state and set it, one gets 409 `state_conflict`, with the present version in `details.version`. The state of a session that has ended " +
      `can be read, and no longer be set: 409 \`session_closed\`.${naming.note}`,
    tag: "Sessions",
    access: { kind: "environment", permission: "sessions.write" },
    params: naming.params,
    query: queryOf(naming),
    body: SetSessionState,
    responses: { 200: { description: "The state with its new version.", schema: SessionState } },
    refusals: [404],
    transaction: "required",
    idempotency: "own",
    audit: { action: "sessions.set_state", resource: "session", by: "people" },
    handle: async ({ tx, server, scope, params, query, body, request, audit }) => {
      const { environmentId } = scope;
      const sessionId = await naming.idOf(tx, { environmentId }, { params, query });
      const now = server.clock();
      const keyed = {
        ...{
          environmentId,
          scope: `sessions.set_state:${sessionId}`,
          key: request.idempotencyKey,
          body,
          now,
        },
        expiresAt: idempotencyExpiry(body.idempotency_key_ttl, now),
      };
      const kept = await withIdempotency(tx, keyed, async () => {
        const { state, if_version: ifVersion = null } = body;
        const change = { state, ifVersion, source: sourceOf(scope), at: now };
        return {
          status: 200,
          body: stateFactsJson(await setState(tx, { environmentId, sessionId }, change)),
        };
      });
      audit(kept.replayed ? null : { id: encodeId("sess", sessionId) });
      // A repeat has the same state as the first request, or it would have been refused.
      const json = stateJson(kept.body, stateText(body.state));
      return { status: kept.status, json, headers: replayedHeader(kept.replayed) };
    },
  });

export const stateRoutes: RouteDefinition[] = [getRoute, setRoute].flatMap((make) => NAMINGS.map(make));
