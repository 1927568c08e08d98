import { InterruptMessage, ListMessages, Message, MessageInterrupted } from "@keelson/contract";
import { Type } from "typebox";
import { usePublicAccess } from "../../../core/public-access/use-public-access.ts";
import { listMessages } from "../../../core/streams/message-reads.ts";
import { ANY_ORIGIN } from "../../edge/cors.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { interruptPublicly, messagesPublicly } from "../public-access-tokens/use-stream.ts";
import { MESSAGE_KEY, messageJson, messagePlaceOf } from "../sessions/message-wire.ts";
import { addressOf, PUBLIC_NAMINGS, SCOPE_REFUSALS, type PublicNaming } from "./public-naming.ts";

/** Messages for browsers: the history of a conversation, and what stops an answer. */

const tag = "Streams";

const messagesRoute = ({ item, suffix, params, query }: PublicNaming): RouteDefinition =>
  listRoute({
    in: ["api-public"],
    tag,
    access: { kind: "public_access", permission: "session.messages.read" },
    cors: ANY_ORIGIN,
    path: `/sessions/${item}/messages`,
    name: `publicListMessages${suffix}`,
    summary: "List messages from a browser",
    description:
      "As listing a session's messages, with a public access token for `session.messages.read` or `session.chat`: those in its streams, and with " +
      `its correlation id when it is for one. A page is a use of the token.${SCOPE_REFUSALS}`,
    params,
    items: "messages",
    resource: Message,
    query: Type.Object({ ...query, ...ListMessages.properties }, { additionalProperties: false }),
    filter: (asked) => asked as { stream?: string; status?: "open" },
    read: async ({ server, scope, ...named }, { filter: { stream, status }, after, limit }) => {
      const { environmentId, sessionId } = scope;
      const covered = await messagesPublicly(server, scope, addressOf(named), stream);
      const filter = { ...covered, isOpen: status === "open" };
      return usePublicAccess(server.db, scope, () =>
        listMessages(server.db, { environmentId, sessionId }, filter, messagePlaceOf(after), limit),
      );
    },
    key: MESSAGE_KEY,
    toJson: messageJson,
  });

const interruptRoute = ({ item, suffix, params, query }: PublicNaming): RouteDefinition =>
  route({
    in: ["api-public"],
    method: "POST",
    path: `/sessions/${item}/interrupt`,
    name: `publicInterruptMessage${suffix}`,
    summary: "Interrupt a message from a browser",
    description: `As interrupting a message, with a public access token for \`session.interrupt\` or \`session.chat\`.${SCOPE_REFUSALS}`,
    tag,
    access: { kind: "public_access", permission: "session.interrupt" },
    cors: ANY_ORIGIN,
    params,
    query: Type.Object(query, { additionalProperties: false }),
    body: InterruptMessage,
    responses: { 200: { description: "What becomes of the message.", schema: MessageInterrupted } },
    transaction: "required",
    handle: async ({ tx, server, scope, body: { message_id }, ...named }) => {
      const status = await interruptPublicly(tx, server, scope, addressOf(named), message_id);
      return { status: 200, body: { message_id, status } };
    },
  });

export const publicMessageRoutes: RouteDefinition[] = [messagesRoute, interruptRoute].flatMap((make) =>
  PUBLIC_NAMINGS.map(make),
);
