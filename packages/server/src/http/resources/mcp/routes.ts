import { JsonObject } from "@keelson/contract";
import { Type, type Static } from "typebox";
import { invalidRequest } from "../../../domain-error.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";
import { METHODS } from "./methods.ts";
import { mayAnswer, takeAnswer } from "./questions.ts";
import { followTaskResult } from "./task-tools.ts";
import { PROTOCOL_VERSIONS, RPC_ERRORS, RpcError, textOf } from "./protocol.ts";

const RpcId = Type.Union([Type.String({ maxLength: 256 }), Type.Integer()]);

const RpcRequest = Type.Object(
  {
    jsonrpc: Type.Literal("2.0"),
    id: Type.Optional({
      ...RpcId,
      description: "Absent in a notification, which is answered with 202 and no body.",
    }),
    method: Type.Optional(
      Type.String({ maxLength: 128, description: "Absent in the response to a question of the server." }),
    ),
    params: Type.Optional(JsonObject),
    result: Type.Optional({
      ...JsonObject,
      description: "What the user answered to `elicitation/create`.",
    }),
    error: Type.Optional({
      ...JsonObject,
      description: "Why the client did not ask its user.",
    }),
  },
  { additionalProperties: false },
);

const RpcResponse = Type.Object({
  jsonrpc: Type.Literal("2.0"),
  id: RpcId,
  result: Type.Optional(JsonObject),
  error: Type.Optional(Type.Object({ code: Type.Integer(), message: Type.String() })),
});

const Query = Type.Object(
  {
    readonly: Type.Optional(
      Type.Enum(["0", "1"], { description: "1: only tools that change nothing. Tasks are not among them." }),
    ),
  },
  { additionalProperties: false },
);

const TASK_RESULT = "tasks/result";

const isReadonly = ({ readonly }: Static<typeof Query>, { grant }: EnvironmentScope): boolean =>
  readonly === "1" || grant?.access === "read";

export const mcpRoutes: RouteDefinition[] = [
  route({
    in: ["mcp"],
    method: "POST",
    path: "/mcp",
    name: "callMcp",
    summary: "Speak the Model Context Protocol",
    description:
      "One JSON-RPC request by the streamable HTTP transport, answered as JSON: `initialize`, `ping`, `tools/list`, `tools/call`, `tasks/get`, `tasks/result` and " +
      "`tasks/cancel`. Each task that declares `mcp` is a tool, and so are operations of the API. A tool does what its caller may do by the API itself. " +
      "`tasks/result` is answered as an event stream where the client accepts one: while the run waits for a token, the stream has the request `elicitation/create`, " +
      "and the client sends the response as a request of its own. No state is kept between requests. A caller is an API key, or a client that a person has connected by OAuth (RFC 9728).",
    tag: "MCP",
    access: { kind: "environment", permission: "tasks.read" },
    connects: true,
    isWatchedFor: ({ method }) => method === TASK_RESULT,
    cors: "any-origin",
    query: Query,
    body: RpcRequest,
    responses: {
      200: { description: "The response, or an error of JSON-RPC.", schema: RpcResponse },
      202: { description: "The notification, or the answer of the user, was taken." },
    },
    refusals: [404],
    examples: {
      request: { jsonrpc: "2.0", id: 1, method: "tools/list" },
      response: {
        jsonrpc: "2.0",
        id: 1,
        result: {
          tools: [
            { name: "send-report", description: "Sends the weekly report.", inputSchema: { type: "object" } },
          ],
        },
      },
    },
    handle: async ({ server, scope, query, body, request }) => {
      const version = request.message.headers["mcp-protocol-version"];
      if (version !== undefined && !PROTOCOL_VERSIONS.some((known) => known === version))
        throw invalidRequest([
          { path: "MCP-Protocol-Version", message: `this server speaks ${PROTOCOL_VERSIONS.join(", ")}` },
        ]);
      const { id, method, params = {}, result, error } = body;
      const caller = { server, scope, request, readonly: isReadonly(query, scope) };
      if (method === undefined) return takeAnswer(caller, { id, result, error });
      if (id === undefined) return { status: 202, body: undefined };
      const answer = (fields: object) => ({ status: 200, body: { jsonrpc: "2.0", id, ...fields } });
      const run = METHODS.get(method);
      if (run === undefined)
        return answer({
          error: { code: RPC_ERRORS.methodNotFound, message: `There is no method ${method}.` },
        });
      try {
        if (method === TASK_RESULT && request.acceptsEventStream && mayAnswer(caller))
          return { status: 200, events: await followTaskResult(caller, id, textOf(params, "taskId")) };
        return answer({ result: await run(caller, params) });
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        return answer({ error: { code: error.code, message: error.message } });
      }
    },
  }),
];
