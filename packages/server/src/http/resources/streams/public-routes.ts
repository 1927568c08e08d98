import {
  CorrelationId,
  WaitText,
  LIMITS,
  RecordPage,
  SequenceCursor,
  SendRecords,
  SentRecord,
} from "@keelson/contract";
import { Type } from "typebox";
import { ANY_ORIGIN } from "../../edge/cors.ts";
import { appendPublicly, readPublicly } from "../public-access-tokens/use-stream.ts";
import { Text } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { EXAMPLE_APPEND, EXAMPLE_SENT, exampleRecords } from "../sessions/examples.ts";
import {
  addressOf,
  PUBLIC_NAMINGS,
  SCOPE_REFUSALS,
  type PublicNamed,
  type PublicNaming,
} from "./public-naming.ts";
import type { ReadQuery } from "./read-stream.ts";
import { SEVERAL_STREAMS } from "./stream-target.ts";

/** Streams for browsers: each route takes a public access token for exactly it, and answers pages of any origin. */

const tag = "Streams";

const streamOf = ({ params }: PublicNamed): string => (params as { stream: string }).stream;

const sendRoute = ({ item, suffix, params, query }: PublicNaming) =>
  route({
    in: ["api-public"],
    method: "POST",
    path: `/sessions/${item}/inputs/:stream`,
    name: `publicSendInput${suffix}`,
    summary: "Send input from a browser",
    description: `As sending input, with a public access token for \`session.input.send\`.${SCOPE_REFUSALS}`,
    tag,
    access: { kind: "public_access", permission: "session.input.send" },
    cors: ANY_ORIGIN,
    params: { ...params, stream: Text() },
    query: Type.Object(query, { additionalProperties: false }),
    body: SendRecords,
    idempotency: "own",
    responses: {
      201: {
        description: "The record, or the records.",
        schema: Type.Union([SentRecord, Type.Object({ records: Type.Array(SentRecord) })]),
      },
    },
    examples: {
      request: EXAMPLE_APPEND,
      response: {
        ...EXAMPLE_SENT,
        stream: "input",
        source: { kind: "public_access_token", id: "pat_01kahvq3s1fz4w8k6r0t2m5j9c" },
      },
    },
    handle: ({ server, scope, body, request, ...named }) =>
      appendPublicly(server, scope, addressOf(named), streamOf(named), body, request.idempotencyKey),
  });

const readFields = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` }),
  ),
  cursor: Type.Optional(SequenceCursor),
  correlation_id: Type.Optional(CorrelationId),
  wait: Type.Optional(WaitText),
  follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
};

const readRoute = ({ item, suffix, params, query }: PublicNaming) =>
  route({
    in: ["api-public"],
    method: "GET",
    path: `/sessions/${item}/outputs/:stream/read`,
    name: `publicReadOutput${suffix}`,
    summary: "Read output from a browser",
    description:
      "As reading an output stream, with a public access token for `session.output.read` or `session.chat`. A token for one correlation id reads only its " +
      "records. A page is a use of the token, and so is the opening of an event stream; reconnecting with `Last-Event-ID` is another. " +
      SEVERAL_STREAMS +
      SCOPE_REFUSALS,
    tag,
    access: { kind: "public_access", permission: "session.output.read" },
    cors: ANY_ORIGIN,
    params: { ...params, stream: Text() },
    query: Type.Object({ ...query, ...readFields }, { additionalProperties: false }),
    responses: { 200: { description: "A page of records, or a stream.", schema: RecordPage } },
    refusals: [409, 410],
    examples: { response: exampleRecords("output") },
    handle: ({ server, scope, request, ...named }) => {
      const { external_id: _, ...read } = named.query as ReadQuery & { external_id?: string };
      return readPublicly(server, scope, addressOf(named), streamOf(named), read, request);
    },
  });

export const publicSessionRoutes: RouteDefinition[] = [
  ...PUBLIC_NAMINGS.map(sendRoute),
  ...PUBLIC_NAMINGS.map(readRoute),
];
