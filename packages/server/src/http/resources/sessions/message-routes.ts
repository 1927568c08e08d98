import { ListMessages, Message, type Uuid } from "@keelson/contract";
import { listMessages, type MessagePlace } from "../../../core/streams/message-reads.ts";
import { listRoute } from "../../edge/list-route.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { requireSession } from "./describe-session.ts";
import { messageJson } from "./message-wire.ts";
import { NAMINGS, queryOf, type Naming } from "./naming.ts";

/** A row's place: when it was made, and its id. */
const PLACE = /^[0-9]{1,15}:[0-9a-f-]{36}$/;

function placeOf(key: string): MessagePlace {
  const [createdAt = "", id = ""] = key.split(":");
  return { createdAt: Number(createdAt), id: id as Uuid<"msg"> };
}

const messagesRoute = (naming: Naming): RouteDefinition =>
  listRoute({
    in: ["v1", "api"],
    tag: "Sessions",
    access: { kind: "environment", permission: "sessions.read" },
    path: `${naming.item}/messages`,
    name: naming.name("listSessionMessages"),
    summary: "List a session's messages",
    description: `What its runs wrote by \`pipe()\`, newest first: each with its state, and with all of it once it has ended. To follow one that is open, read its stream after \`first_sequence\` less one.${naming.note}`,
    params: naming.params,
    items: "messages",
    resource: Message,
    query: queryOf(naming, ListMessages.properties),
    filter: (query) => {
      const { stream, status } = query as { stream?: string; status?: "open" };
      return { stream: stream ?? null, isOpen: status === "open" };
    },
    within: async ({ server, scope, params, query }) =>
      (await requireSession(server.db, scope, await naming.idOf(server.db, scope, { params, query }))).id,
    read: ({ server, scope }, { filter, within: sessionId, after, limit }) => {
      const place = after === null ? null : placeOf(after);
      return listMessages(server.db, { environmentId: scope.environmentId, sessionId }, filter, place, limit);
    },
    key: { of: ({ createdAt, id }) => `${createdAt}:${id}`, pattern: PLACE },
    toJson: messageJson,
  });

export const messageRoutes: RouteDefinition[] = NAMINGS.map(messagesRoute);
