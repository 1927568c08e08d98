import {
  AppendRecords,
  CorrelationId,
  DEFAULT_INPUT_STREAM,
  DEFAULT_OUTPUT_STREAM,
  WaitText,
  LIMITS,
  RecordPage,
  SendRecords,
  SentRecord,
  SequenceCursor,
  StreamName,
  StreamRecord,
  type StreamDirection,
} from "@keelson/contract";
import { Type, type TProperties } from "typebox";
import { invalidRequest } from "../../../domain-error.ts";
import { withdrawInput } from "../../../core/streams/withdraw-input.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { Text, type Params } from "../../edge/params.ts";
import { operationOf } from "../../edge/places.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { sourceOf } from "./record-source.ts";
import {
  EXAMPLE_APPEND,
  EXAMPLE_RECORD,
  EXAMPLE_SENT,
  EXAMPLE_WITHDRAWN,
  exampleRecords,
} from "../sessions/examples.ts";
import { NAMINGS, queryOf, type Naming } from "../sessions/naming.ts";
import { appendRecords } from "./append-records.ts";
import { readRecordsReply, recordPage, type ReadQuery, type RecordQuery } from "./read-stream.ts";
import {
  checkStreamName,
  checkStreamNames,
  SEVERAL_STREAMS,
  type StreamTarget,
  type StreamTargets,
} from "./stream-target.ts";
import { recordJson } from "./wire.ts";

/**
 * Stream routes: appending, listing and reading, once for each direction, family and way to name a session. On /api the
 * stream stands in the path, on /v1 in the query or the body.
 */

const tag = "Streams";
const read = { kind: "environment", permission: "sessions.read" } as const;
const write = { kind: "environment", permission: "sessions.write" } as const;

/** Where the route is, which says where the stream stands, and how its path names the session. */
type Form = Naming & { place: "v1" | "api" };

const FORMS: readonly Form[] = (["v1", "api"] as const).flatMap((place) =>
  NAMINGS.map((naming) => ({
    ...naming,
    place,
    name: (name: string) => (place === "api" ? operationOf("api", naming.name(name)) : naming.name(name)),
  })),
);

type Side = { direction: StreamDirection; noun: string; fallback: string };

const INPUT: Side = { direction: "input", noun: "Input", fallback: DEFAULT_INPUT_STREAM };
const SIDES: readonly Side[] = [
  INPUT,
  { direction: "output", noun: "Output", fallback: DEFAULT_OUTPUT_STREAM },
];

const pageFields = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` }),
  ),
  cursor: Type.Optional(SequenceCursor),
  correlation_id: Type.Optional(CorrelationId),
};

const unreceivedField = {
  received: Type.Optional(
    Type.Literal("false", {
      description: "Only records that no run has received and that nobody has withdrawn.",
    }),
  ),
};

const readFields = {
  ...pageFields,
  wait: Type.Optional(WaitText),
  follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
};

const inPath = ({ place }: Form): boolean => place === "api";

const pathOf = (naming: Form, { direction }: Side): string =>
  `${naming.item}/${direction}s${inPath(naming) ? "/:stream" : ""}`;

const paramsOf = (naming: Form): Params =>
  inPath(naming) ? { ...naming.params, stream: Text() } : naming.params;

/** As one stream is named, or several that are followed at once. */
const streamsField = (naming: Form, { fallback }: Side): TProperties =>
  inPath(naming)
    ? {}
    : {
        stream: Type.Optional(
          Type.String({
            examples: [fallback],
            description: `Default \`${fallback}\`. With \`follow=1\` up to ${LIMITS.followedStreams}, with commas in between.`,
          }),
        ),
      };

const streamField = (naming: Form, { fallback }: Side): TProperties =>
  inPath(naming)
    ? {}
    : { stream: Type.Optional(Type.String({ ...StreamName, description: `Default \`${fallback}\`.` })) };

type Named = { params: unknown; query: unknown };

/** What a sequence can be: the database counts in 31 bits. */
const SEQUENCE_PATTERN = "^[1-9][0-9]{0,8}$";

async function targetOf(
  server: { db: Queryable },
  scope: EnvironmentScope,
  naming: Form,
  { direction, fallback }: Side,
  call: Named,
  inBody?: string,
): Promise<StreamTarget> {
  const { stream: inQuery } = call.query as { stream?: string };
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery)
    throw invalidRequest([{ path: "stream", message: "differs in query and body; send one of them" }]);
  const sessionId = await naming.idOf(server.db, scope, call);
  const name = checkStreamName(inBody ?? namedStream(call) ?? fallback);
  return { environmentId: scope.environmentId, sessionId, name, direction };
}

/** In the path, or in the query. */
const namedStream = ({ params, query }: Named): string | undefined =>
  (params as { stream?: string }).stream ?? (query as { stream?: string }).stream;

/** As `targetOf`, of all streams that the call names. */
async function targetsOf(
  server: { db: Queryable },
  scope: EnvironmentScope,
  naming: Form,
  { direction, fallback }: Side,
  call: Named,
): Promise<StreamTargets> {
  const { environmentId } = scope;
  const sessionId = await naming.idOf(server.db, scope, call);
  const targets = checkStreamNames(namedStream(call) ?? fallback).map((name) => ({
    ...{ environmentId, sessionId, name, direction },
  }));
  return targets as [StreamTarget, ...StreamTarget[]];
}

/** What remains of a query that also names the session and the stream. */
function recordQuery(query: unknown): ReadQuery {
  const { cursor, limit, correlation_id, received, wait, follow } = query as ReadQuery;
  return Object.fromEntries(
    Object.entries({ cursor, limit, correlation_id, received, wait, follow }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

/** On /v1 the body may name the stream. */
const appendBody = (naming: Form, side: Side) =>
  inPath(naming)
    ? side.direction === "input"
      ? SendRecords
      : AppendRecords
    : Type.Object(
        {
          ...(side.direction === "input" ? SendRecords : AppendRecords).properties,
          ...streamField(naming, side),
        },
        {
          additionalProperties: false,
          $id: `Append${side.noun}`,
        },
      );

const appendRoute = (naming: Form, side: Side) =>
  route({
    in: [naming.place],
    method: "POST",
    path: pathOf(naming, side),
    name: naming.name(`appendSession${side.noun}`),
    summary: side.direction === "input" ? "Send input" : "Append output",
    description:
      (side.direction === "input"
        ? "Appends to an input stream. Input to an open session whose newest run has ended starts the next run, of the current deployment, in the same step. " +
          "`disposition` says whether it did. `while_busy` says what input does that comes while a turn is live; without it, the declaration of the " +
          "session's actor does. With `interrupt`, the messages that the turn is writing are interrupted in the same step. With `steer`, the record is " +
          "marked as meant for this turn. With `reject`, input that no run would receive now is 409 `session_busy`, and nothing is appended. "
        : "Appends to an output stream, as the session's runs do. ") +
      "The body is one record, or `records`, which are appended all or none; the answer is in the same form. A stream is made at its first " +
      "use and keeps its direction: 409 `stream_direction_mismatch`. An ended session is 409 `session_closed`." +
      naming.note,
    tag,
    access: write,
    params: paramsOf(naming),
    query: queryOf(naming, streamField(naming, side)),
    body: appendBody(naming, side),
    idempotency: "own",
    responses: {
      201: {
        description: "The record, or the records.",
        schema:
          side.direction === "input"
            ? Type.Union([SentRecord, Type.Object({ records: Type.Array(SentRecord) })])
            : Type.Union([StreamRecord, Type.Object({ records: Type.Array(StreamRecord) })]),
      },
    },
    examples: {
      request: EXAMPLE_APPEND,
      response: side.direction === "input" ? EXAMPLE_SENT : { ...EXAMPLE_RECORD, stream: side.fallback },
    },
    handle: async ({ server, scope, params, query, body, request }) => {
      const { stream, ...append } = body as SendRecords & { stream?: string };
      const target = await targetOf(server, scope, naming, side, { params, query }, stream);
      return appendRecords(server, target, append, request.idempotencyKey, sourceOf(scope));
    },
  });

const pageRoute = (naming: Form, side: Side) =>
  route({
    in: [naming.place],
    method: "GET",
    path: pathOf(naming, side),
    name: naming.name(`listSession${side.noun}s`),
    summary: `List the records of an ${side.direction} stream`,
    description:
      "Oldest first, after `cursor`. `next_cursor` is the last record's sequence, also when there are no more yet: what comes later is read " +
      "with it. `ended` says that nothing will." +
      (side.direction === "input" ? " `received=false`: only what waits for a run to receive it." : "") +
      naming.note,
    tag,
    access: read,
    params: paramsOf(naming),
    query: queryOf(naming, {
      ...streamField(naming, side),
      ...pageFields,
      ...(side.direction === "input" ? unreceivedField : {}),
    }),
    responses: { 200: { description: "A page of records.", schema: RecordPage } },
    refusals: [409, 410],
    examples: { response: exampleRecords(side.direction) },
    handle: async ({ server, scope, params, query }) => {
      const target = await targetOf(server, scope, naming, side, { params, query });
      return recordPage(server, target, recordQuery(query) satisfies RecordQuery);
    },
  });

const readRoute = (naming: Form, side: Side) =>
  route({
    in: [naming.place],
    method: "GET",
    path: `${pathOf(naming, side)}/read`,
    name: naming.name(`readSession${side.noun}s`),
    summary: `Read an ${side.direction} stream`,
    description:
      "As the list, but waits up to `wait` for the first record after `cursor`. With `follow=1` or `Accept: text/event-stream` a stream of " +
      "`record`, whose ids are the sequences. Continue with `Last-Event-ID` or `cursor`; the stream ends with `end` when the session has ended " +
      "and no run of it is live. " +
      SEVERAL_STREAMS +
      naming.note,
    tag,
    access: read,
    params: paramsOf(naming),
    query: queryOf(naming, { ...streamsField(naming, side), ...readFields }),
    responses: { 200: { description: "A page of records, or a stream.", schema: RecordPage } },
    refusals: [409, 410],
    examples: { response: exampleRecords(side.direction) },
    handle: async ({ server, scope, params, query, request }) => {
      const targets = await targetsOf(server, scope, naming, side, { params, query });
      return readRecordsReply(server, targets, recordQuery(query), request);
    },
  });

const withdrawRoute = (naming: Form) =>
  route({
    in: [naming.place],
    method: "DELETE",
    path: `${pathOf(naming, INPUT)}/:sequence`,
    name: naming.name("withdrawSessionInput"),
    summary: "Withdraw input",
    description:
      "Takes back a record that no run has received: none will, and it starts no turn. The record stays in the stream with its sequence, with " +
      "`withdrawn_at`, and its `data` is null. Withdrawing again answers the same. A record that a run has received is 409 `already_received`." +
      naming.note,
    tag,
    access: write,
    params: { ...paramsOf(naming), sequence: Text(SEQUENCE_PATTERN) },
    query: queryOf(naming, streamField(naming, INPUT)),
    responses: { 200: { description: "The withdrawn record.", schema: StreamRecord } },
    refusals: [409],
    examples: { response: EXAMPLE_WITHDRAWN },
    transaction: "required",
    handle: async ({ tx, server, scope, params, query }) => {
      const target = await targetOf({ db: tx }, scope, naming, INPUT, { params, query });
      const { sequence } = params as { sequence: string };
      const record = await withdrawInput(tx, target, Number(sequence), server.clock());
      return { status: 200, json: recordJson(target.sessionId, target.name, record) };
    },
  });

export const streamRoutes: RouteDefinition[] = [
  ...[appendRoute, pageRoute, readRoute].flatMap((make) =>
    FORMS.flatMap((form) => SIDES.map((side) => make(form, side))),
  ),
  ...FORMS.map(withdrawRoute),
];
