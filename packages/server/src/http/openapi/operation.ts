import { RunLogChunk } from "@keelson/contract";
import { Type, type TSchema } from "typebox";
import type { Route } from "../edge/route.ts";
import type { Components, JsonSchema } from "./components.ts";
import { codeSamples } from "./code-samples.ts";
import { eventStreamExample } from "./event-stream-example.ts";
import { exampleOf } from "./example-of.ts";
import { pathParameterExample, queryParameterExample } from "./parameter-example.ts";
import { rawExample } from "./raw-example.ts";
import { ANSWER_HEADERS, hasJsonBody, refusals } from "./refusals.ts";
import { FORM_MEDIA_TYPE } from "../edge/form-body.ts";
import { isSelecting, selectionFields, withSelection } from "../edge/selection.ts";

/** One route as an operation of the document. */
export function toOperation(route: Route, components: Components): JsonSchema {
  const body = requestBody(route, components);
  const declared = parameters(route, components);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: describe(route),
    tags: [tagName(route)],
    security: security(route),
    ...("permission" in route.access ? { "x-permission": route.access.permission } : {}),
    parameters: declared,
    ...(body === null ? {} : { requestBody: body }),
    responses: { ...successes(route, components), ...refusals(route, components) },
    "x-codeSamples": codeSamples(route, openApiPath(route.path), declared, body),
  };
}

function describe({ description = "", access }: Route): string {
  // Pages and files of the server itself have a summary alone.
  if (description === "" && access.kind === "public") return "Needs no credential.";
  return description;
}

export const openApiPath = (path: string): string => path.replaceAll(/:(\w+)/g, "{$1}");

export const tagName = ({ tag }: Route): string => tag.charAt(0).toUpperCase() + tag.slice(1);

/** A browser sends the cookie, everyone else the bearer token. */
const USER: readonly JsonSchema[] = [{ userSession: [] }, { sessionCookie: [] }];

function security(route: Route): JsonSchema[] {
  switch (route.access.kind) {
    case "public":
      return [];
    case "environment":
      if (route.connects === true) return [{ apiKey: [] }, { accessToken: [] }];
      return isSelecting(route) ? [{ apiKey: [] }, ...USER] : [{ apiKey: [] }];
    case "caller":
      return [{ apiKey: [] }, ...USER];
    case "organization":
    case "project":
    case "user":
      return [...USER];
    case "visitor":
      return [{}, ...USER];
    case "worker":
      return [{ workerToken: [] }];
    case "public_access":
    case "public_run_access":
      return [{ publicAccessToken: [] }];
    case "completion_token":
      return [{ completionToken: [] }];
    case "admin":
      return [{ adminKey: [] }, ...USER];
    case "capacity":
      return [{ capacityKey: [] }, { adminKey: [] }];
  }
}

type ObjectSchema = { properties?: Record<string, TSchema>; required?: string[] };

function parameters(route: Route, components: Components): JsonSchema[] {
  const names = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  const query = (route.query ?? {}) as ObjectSchema;
  const selection = hasJsonBody(route) ? {} : selectionFields(route);
  return [
    ...names.map((name) =>
      parameter("path", name, Type.String(), pathParameterExample(route.path, name), components),
    ),
    ...Object.entries({ ...query.properties, ...selection }).map(([name, schema]) =>
      parameter(
        "query",
        name,
        schema,
        query.required?.includes(name) === true
          ? queryParameterExample(name, schema as JsonSchema)
          : undefined,
        components,
      ),
    ),
    { $ref: "#/components/parameters/ServiceApiVersion" },
    ...(route.idempotency === undefined ? [] : [{ $ref: "#/components/parameters/IdempotencyKey" }]),
    ...(follows(route) ? [{ $ref: "#/components/parameters/LastEventId" }] : []),
  ];
}

/** One that must be given has an example. */
function parameter(
  where: string,
  name: string,
  schema: TSchema,
  example: unknown,
  components: Components,
): JsonSchema {
  const { description, ...rest } = components.refer(schema);
  return {
    name,
    in: where,
    required: example !== undefined,
    ...(description === undefined ? {} : { description }),
    schema: rest,
    ...(example === undefined ? {} : { example }),
  };
}

const follows = (route: Route): boolean =>
  ((route.query ?? {}) as ObjectSchema).properties?.["follow"] !== undefined;

function requestBody(route: Route, components: Components): JsonSchema | null {
  if (route.rawBody !== undefined) {
    const { mediaType, bodyLimitBytes } = route.rawBody;
    const schema = {
      type: "string",
      contentMediaType: mediaType,
      description: `Up to ${bodyLimitBytes} bytes.`,
    };
    const json = route.rawBody.orJson === undefined ? null : components.refer(route.rawBody.orJson);
    const content = {
      [mediaType]: { schema, example: route.examples?.request ?? rawExample(mediaType) },
      ...(json === null
        ? {}
        : { "application/json": { schema: json, example: exampleOf(json, resolver(components)) } }),
    };
    return { required: true, content };
  }
  if (!hasJsonBody(route)) return null;
  const declared = (route.body ?? Type.Object({}, { additionalProperties: false })) as TSchema & ObjectSchema;
  if (route.body === undefined && !isSelecting(route)) return null;
  const schema = components.refer(withSelection(declared, selectionFields(route)));
  const required = (declared.required?.length ?? 0) > 0;
  const example = route.examples?.request ?? exampleOf(schema, resolver(components));
  const media = { schema, example };
  // As RFC 6749 has it; JSON is taken as well.
  const asForm = route.oauth === "invalid_request" ? { [FORM_MEDIA_TYPE]: media } : {};
  return { required, content: { ...asForm, "application/json": media } };
}

const resolver =
  (components: Components) =>
  (ref: string): JsonSchema =>
    components.schemas()[ref.slice("#/components/schemas/".length)] as JsonSchema;

function successes(route: Route, components: Components): JsonSchema {
  const [first] = Object.values(route.responses);
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { description, schema, mediaType }]) => {
      const replayed =
        route.idempotency === undefined
          ? {}
          : { "Idempotency-Replayed": { $ref: "#/components/headers/IdempotencyReplayed" } };
      const response: JsonSchema = { description, headers: { ...ANSWER_HEADERS, ...replayed } };
      const content: JsonSchema = {};
      // A given example is of the first answer, and of others that look alike.
      const given = schema === first?.schema ? route.examples?.response : undefined;
      if (schema !== undefined) {
        const written = components.refer(schema);
        const example = given ?? exampleOf(written, resolver(components));
        content[mediaType ?? "application/json"] = { schema: written, example };
        if (follows(route))
          content["text/event-stream"] = {
            schema: { type: "string" },
            example: eventStreamExample(
              route.path,
              example,
              exampleOf(components.refer(RunLogChunk), resolver(components)),
            ),
          };
      } else if (mediaType !== undefined)
        content[mediaType] = {
          schema: { type: "string", contentMediaType: mediaType },
          example: given ?? rawExample(mediaType),
        };
      return [status, Object.keys(content).length === 0 ? response : { ...response, content }];
    }),
  );
}
