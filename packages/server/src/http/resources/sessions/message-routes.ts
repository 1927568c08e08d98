import {
  decodeId,
  encodeId,
  InterruptMessage,
  ListMessages,
  Message,
  MessageInterrupted,
} from "@keelson/contract";
import { interruptMessage } from "../../../core/streams/interrupt-message.ts";
import { listMessages } from "../../../core/streams/message-reads.ts";
import { listRoute } from "../../edge/list-route.ts";
import { notFound } from "../../../domain-error.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { requireSession } from "./describe-session.ts";
import { MESSAGE_KEY, messageJson, messagePlaceOf } from "./message-wire.ts";
import { NAMINGS, queryOf, type Naming } from "./naming.ts";

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
      return { stream: stream ?? null, streamIds: null, correlationId: null, isOpen: status === "open" };
    },
    within: async ({ server, scope, params, query }) =>
      (await requireSession(server.db, scope, await naming.idOf(server.db, scope, { params, query }))).id,
    read: ({ server, scope }, { filter, within: sessionId, after, limit }) => {
      const session = { environmentId: scope.environmentId, sessionId };
      return listMessages(server.db, session, filter, messagePlaceOf(after), limit);
    },
    key: MESSAGE_KEY,
    toJson: messageJson,
  });

const interruptRoute = (naming: Naming): RouteDefinition =>
  route({
    in: ["v1", "api"],
    method: "POST",
    path: `${naming.item}/interrupt`,
    name: naming.name("interruptSessionMessage"),
    summary: "Interrupt a message",
    description:
      "Asks the code that writes the message to stop. It gets ten seconds, then the message ends without it, and nothing of it is taken any " +
      "more. Where no worker is at it, it ends at once. A message that has ended stays as it is: a request that comes late, or again, stops " +
      `no other message and starts no run.${naming.note}`,
    tag: "Sessions",
    access: { kind: "environment", permission: "sessions.write" },
    params: naming.params,
    query: queryOf(naming),
    body: InterruptMessage,
    responses: { 200: { description: "What becomes of the message.", schema: MessageInterrupted } },
    refusals: [404],
    transaction: "required",
    audit: { action: "sessions.interrupt", resource: "session", by: "people" },
    handle: async ({ tx, server, scope, params, query, body, audit }) => {
      const { environmentId } = scope;
      const sessionId = await naming.idOf(tx, scope, { params, query });
      const id = decodeId("msg", body.message_id);
      if (id === null) throw notFound();
      const key = { environmentId, sessionId, id };
      const status = await interruptMessage(tx, { newUuid: server.newUuid, now: server.clock() }, key);
      audit(status === "interrupting" ? { id: encodeId("sess", sessionId) } : null);
      return { status: 200, body: { message_id: body.message_id, status } };
    },
  });

export const messageRoutes: RouteDefinition[] = [messagesRoute, interruptRoute].flatMap((make) =>
  NAMINGS.map(make),
);
