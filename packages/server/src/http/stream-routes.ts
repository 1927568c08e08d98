import {
  AppendRecords,
  CorrelationId,
  DEFAULT_INPUT_STREAM,
  DEFAULT_OUTPUT_STREAM,
  DurationText,
  LIMITS,
  RecordPage,
  SequenceCursor,
  StreamName,
  StreamRecord,
  type StreamDirection,
} from "@keelson/contract";
import { Type, type TProperties } from "typebox";
import { invalidRequest } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { route, type EnvironmentScope, type Route } from "./route.ts";
import { sessionIdOf, sourceOf } from "./session-answers.ts";
import { EXAMPLE_APPEND, EXAMPLE_RECORD, EXAMPLE_RECORDS } from "./session-examples.ts";
import { namingsIn, queryOf, type Naming } from "./session-routes.ts";
import type { SharedFamily } from "./shared-route.ts";
import {
  answerAppend,
  answerRecordPage,
  answerRecordRead,
  checkStreamName,
  type ReadQuery,
  type RecordQuery,
  type StreamTarget,
} from "./stream-answers.ts";

/**
 * Stream routes: appending, listing and reading, once for each direction, family and way to name a session. On /api the
 * stream stands in the path, on /v1 in the query or the body.
 */

const tag = "Streams";
const read = { kind: "environment", permission: "sessions.read" } as const;
const write = { kind: "environment", permission: "sessions.write" } as const;

type Side = { direction: StreamDirection; noun: string; fallback: string };

const SIDES: readonly Side[] = [
  { direction: "input", noun: "Input", fallback: DEFAULT_INPUT_STREAM },
  { direction: "output", noun: "Output", fallback: DEFAULT_OUTPUT_STREAM },
];

const pageFields = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` }),
  ),
  cursor: Type.Optional(SequenceCursor),
  correlation_id: Type.Optional(CorrelationId),
};

const readFields = {
  ...pageFields,
  wait: Type.Optional(
    Type.String({ ...DurationText, description: "How long to wait for a record: 25s, at most 60s." }),
  ),
  follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
};

const inPath = ({ family }: Naming): boolean => family === "api";

const pathOf = (naming: Naming, { direction }: Side): string =>
  `${naming.item}/${direction}s${inPath(naming) ? "/:stream" : ""}`;

const paramsOf = (naming: Naming) =>
  inPath(naming) ? Type.Object({ ...naming.params.properties, stream: Type.String() }) : naming.params;

const streamField = (naming: Naming, { fallback }: Side): TProperties =>
  inPath(naming)
    ? {}
    : { stream: Type.Optional(Type.String({ ...StreamName, description: `Default \`${fallback}\`.` })) };

type Named = { params: unknown; query: unknown };

async function targetOf(
  server: ServerContext,
  scope: EnvironmentScope,
  naming: Naming,
  { direction, fallback }: Side,
  call: Named,
  inBody?: string,
): Promise<StreamTarget> {
  const { stream: inParams } = call.params as { stream?: string };
  const { stream: inQuery } = call.query as { stream?: string };
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery)
    throw invalidRequest([{ path: "stream", message: "differs in query and body; send one of them" }]);
  const sessionId = await sessionIdOf(server, scope, naming.addressOf(call));
  const name = checkStreamName(inParams ?? inBody ?? inQuery ?? fallback);
  return { environmentId: scope.environmentId, sessionId, name, direction };
}

/** What remains of a query that also names the session and the stream. */
function recordQuery(query: unknown): ReadQuery {
  const { cursor, limit, correlation_id, wait, follow } = query as ReadQuery;
  return Object.fromEntries(
    Object.entries({ cursor, limit, correlation_id, wait, follow }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

/** On /v1 the body may name the stream. */
const appendBody = (naming: Naming, side: Side) =>
  inPath(naming)
    ? AppendRecords
    : Type.Object(
        { ...AppendRecords.properties, ...streamField(naming, side) },
        {
          additionalProperties: false,
          $id: `Append${side.noun}`,
        },
      );

const appendRoute = (naming: Naming, side: Side): Route =>
  route({
    family: naming.family,
    method: "POST",
    path: pathOf(naming, side),
    operationId: naming.operation(`appendSession${side.noun}`),
    summary: side.direction === "input" ? "Send input" : "Append output",
    description:
      (side.direction === "input"
        ? "Appends to an input stream. Input to an open session whose newest run has ended starts the next run, of the current deployment, in the same step. "
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
        schema: Type.Union([StreamRecord, Type.Object({ records: Type.Array(StreamRecord) })]),
      },
    },
    examples: { request: EXAMPLE_APPEND, response: { ...EXAMPLE_RECORD, stream: side.fallback } },
    handle: async ({ server, scope, params, query, body, request }) => {
      const { stream, ...append } = body as AppendRecords & { stream?: string };
      const target = await targetOf(server, scope, naming, side, { params, query }, stream);
      return answerAppend(server, target, append, request.idempotencyKey, sourceOf(scope));
    },
  });

const pageRoute = (naming: Naming, side: Side): Route =>
  route({
    family: naming.family,
    method: "GET",
    path: pathOf(naming, side),
    operationId: naming.operation(`listSession${side.noun}s`),
    summary: `List the records of an ${side.direction} stream`,
    description:
      "Oldest first, after `cursor`. `next_cursor` is the last record's sequence, also when there are no more yet: what comes later is read " +
      "with it. `ended` says that nothing will." +
      naming.note,
    tag,
    access: read,
    params: paramsOf(naming),
    query: queryOf(naming, { ...streamField(naming, side), ...pageFields }),
    responses: { 200: { description: "A page of records.", schema: RecordPage } },
    examples: { response: EXAMPLE_RECORDS },
    handle: async ({ server, scope, params, query }) => {
      const target = await targetOf(server, scope, naming, side, { params, query });
      return answerRecordPage(server, target, recordQuery(query) satisfies RecordQuery);
    },
  });

const readRoute = (naming: Naming, side: Side): Route =>
  route({
    family: naming.family,
    method: "GET",
    path: `${pathOf(naming, side)}/read`,
    operationId: naming.operation(`readSession${side.noun}s`),
    summary: `Read an ${side.direction} stream`,
    description:
      "As the list, but waits up to `wait` for the first record after `cursor`. With `follow=1` or `Accept: text/event-stream` a stream of " +
      "`record`, whose ids are the sequences. Continue with `Last-Event-ID` or `cursor`; the stream ends with `end` when the session has ended " +
      "and no run of it is live." +
      naming.note,
    tag,
    access: read,
    params: paramsOf(naming),
    query: queryOf(naming, { ...streamField(naming, side), ...readFields }),
    responses: { 200: { description: "A page of records, or a stream.", schema: RecordPage } },
    examples: { response: EXAMPLE_RECORDS },
    handle: async ({ server, scope, params, query, request }) => {
      const target = await targetOf(server, scope, naming, side, { params, query });
      return answerRecordRead(server, target, recordQuery(query), request);
    },
  });

export const streamRoutesIn = (family: SharedFamily): Route[] =>
  [appendRoute, pageRoute, readRoute].flatMap((make) =>
    namingsIn(family).flatMap((naming) => SIDES.map((side) => make(naming, side))),
  );
