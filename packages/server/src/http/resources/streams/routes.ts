import {
  AppendRecords,
  CorrelationId,
  DEFAULT_INPUT_STREAM,
  DEFAULT_OUTPUT_STREAM,
  WaitText,
  LIMITS,
  RecordPage,
  SequenceCursor,
  StreamName,
  StreamRecord,
  type StreamDirection,
} from "@keelson/contract";
import { Type, type TProperties } from "typebox";
import { invalidRequest } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { Text, type Params } from "../../edge/params.ts";
import { operationOf } from "../../edge/places.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { sourceOf } from "./record-source.ts";
import { EXAMPLE_APPEND, EXAMPLE_RECORD, exampleRecords } from "../sessions/examples.ts";
import { NAMINGS, queryOf, type Naming } from "../sessions/naming.ts";
import { appendRecords } from "./append-records.ts";
import { readRecordsReply, recordPage, type ReadQuery, type RecordQuery } from "./read-stream.ts";
import { checkStreamName, type StreamTarget } from "./stream-target.ts";

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
  wait: Type.Optional(WaitText),
  follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
};

const inPath = ({ place }: Form): boolean => place === "api";

const pathOf = (naming: Form, { direction }: Side): string =>
  `${naming.item}/${direction}s${inPath(naming) ? "/:stream" : ""}`;

const paramsOf = (naming: Form): Params =>
  inPath(naming) ? { ...naming.params, stream: Text() } : naming.params;

const streamField = (naming: Form, { fallback }: Side): TProperties =>
  inPath(naming)
    ? {}
    : { stream: Type.Optional(Type.String({ ...StreamName, description: `Default \`${fallback}\`.` })) };

type Named = { params: unknown; query: unknown };

async function targetOf(
  server: ServerContext,
  scope: EnvironmentScope,
  naming: Form,
  { direction, fallback }: Side,
  call: Named,
  inBody?: string,
): Promise<StreamTarget> {
  const { stream: inParams } = call.params as { stream?: string };
  const { stream: inQuery } = call.query as { stream?: string };
  if (inBody !== undefined && inQuery !== undefined && inBody !== inQuery)
    throw invalidRequest([{ path: "stream", message: "differs in query and body; send one of them" }]);
  const sessionId = await naming.idOf(server.db, scope, call);
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
const appendBody = (naming: Form, side: Side) =>
  inPath(naming)
    ? AppendRecords
    : Type.Object(
        { ...AppendRecords.properties, ...streamField(naming, side) },
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
      naming.note,
    tag,
    access: read,
    params: paramsOf(naming),
    query: queryOf(naming, { ...streamField(naming, side), ...pageFields }),
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
      "and no run of it is live." +
      naming.note,
    tag,
    access: read,
    params: paramsOf(naming),
    query: queryOf(naming, { ...streamField(naming, side), ...readFields }),
    responses: { 200: { description: "A page of records, or a stream.", schema: RecordPage } },
    refusals: [409, 410],
    examples: { response: exampleRecords(side.direction) },
    handle: async ({ server, scope, params, query, request }) => {
      const target = await targetOf(server, scope, naming, side, { params, query });
      return readRecordsReply(server, target, recordQuery(query), request);
    },
  });

export const streamRoutes: RouteDefinition[] = [appendRoute, pageRoute, readRoute].flatMap((make) =>
  FORMS.flatMap((form) => SIDES.map((side) => make(form, side))),
);
