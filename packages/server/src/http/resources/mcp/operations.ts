import { isUtf8 } from "node:buffer";
import { MCP_OPERATION_PREFIX } from "@keelson/contract";
import type { Route } from "../../edge/route.ts";
import { askRoute, type McpCaller } from "./caller.ts";
import { jsonResult, textResult, type Fields, type Tool, type ToolResult } from "./protocol.ts";

/** A tool that is a route of the API: its input is what the route takes, and its caller may do what they may do there. */
type Operation = {
  name: string;
  /** The route's operation id. */
  route: string;
  description: string;
  /** It changes something. */
  writes?: true;
  /** What the tool says, where that is not the route's JSON. */
  present?: (json: unknown, bytes: Buffer) => ToolResult;
};

const OPERATIONS: readonly Operation[] = [
  {
    name: "list_tasks",
    route: "listTasks",
    description: "Lists the tasks that can be started, with their payload schemas.",
  },
  {
    name: "start_task",
    route: "startTask",
    writes: true,
    description: "Starts a run of a task and answers at once. Read how it goes with keelson_get_run.",
  },
  {
    name: "list_runs",
    route: "listRuns",
    description: "Lists runs, newest first. A run must match all filters.",
  },
  {
    name: "get_run",
    route: "getRun",
    description:
      "Shows a run: its status, its output or failure, and in status_reason why it is not running.",
  },
  {
    name: "list_run_events",
    route: "listRunEvents",
    description: "Shows what a run did, in order: attempts, steps, waits and failures.",
  },
  {
    name: "read_run_logs",
    route: "listRunLogs",
    present: logText,
    description: "Reads what the code of a run wrote to stdout and stderr, oldest first.",
  },
  {
    name: "cancel_run",
    route: "cancelRun",
    writes: true,
    description: "Cancels a run. The code of a running one is asked to stop.",
  },
  {
    name: "list_error_groups",
    route: "listErrorGroups",
    description: "Lists errors: runs that failed in the same way are one, with a count and the last time.",
  },
  {
    name: "get_error_group",
    route: "getErrorGroup",
    description: "Shows an error, with the run that failed by it last.",
  },
  {
    name: "list_tokens",
    route: "listTokens",
    description: "Lists tokens: questions that runs wait for, such as approvals.",
  },
  { name: "get_token", route: "getToken", description: "Shows a token, and in its metadata what is asked." },
  {
    name: "complete_token",
    route: "completeToken",
    writes: true,
    description:
      "Answers a token with data, and the run that waits for it goes on. The answer cannot be changed later.",
  },
  {
    name: "list_deployments",
    route: "listDeployments",
    description: "Lists versions of the code, newest first.",
  },
  {
    name: "get_current_deployment",
    route: "getCurrentDeployment",
    description: "Shows which version of the code new runs use.",
  },
  {
    name: "promote_deployment",
    route: "promoteDeployment",
    writes: true,
    description: "Makes a deployment current, so that new runs use it.",
  },
  {
    name: "list_workspaces",
    route: "listWorkspaces",
    description: "Lists workspaces: durable folders with versions, in which commands run.",
  },
  {
    name: "list_workspace_files",
    route: "apiListWorkspaceFiles",
    description: "Lists the files of a folder of a workspace.",
  },
  {
    name: "read_workspace_file",
    route: "apiReadWorkspaceFile",
    present: fileText,
    description: "Reads a file of a workspace.",
  },
  {
    name: "exec_in_workspace",
    route: "execInWorkspace",
    writes: true,
    description: "Runs a command in a workspace and waits for its end.",
  },
];

/** A model reads no more at once. */
const MAX_FILE_CHARACTERS = 100_000;

/** The tools that the caller may use. */
export const listOperations = ({ server, scope, readonly }: McpCaller): Tool[] =>
  OPERATIONS.flatMap((operation) => {
    const route = server.innerCalls.find(operation.route);
    const isAllowed = route.access.kind === "environment" && scope.permissions.has(route.access.permission);
    return isAllowed && !(readonly && operation.writes === true) ? [toTool(operation, route)] : [];
  });

const toTool = ({ name, description, writes }: Operation, route: Route): Tool => ({
  name: `${MCP_OPERATION_PREFIX}${name}`,
  description,
  inputSchema: inputSchema(route),
  annotations: writes === true ? { readOnlyHint: false, destructiveHint: true } : { readOnlyHint: true },
  execution: { taskSupport: "forbidden" },
});

/** What stands in the path, the query and the body, as one object: no name is in two of them. */
function inputSchema({ params = {}, query, body }: Route): Fields {
  const parts = [query, body].flatMap((schema) => (schema === undefined ? [] : [schema as Fields]));
  const names = Object.keys(params);
  return {
    type: "object",
    properties: Object.assign(
      Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      ...parts.map(({ properties }) => properties ?? {}),
    ) as Fields,
    required: [...names, ...parts.flatMap(({ required }) => (required ?? []) as string[])],
    additionalProperties: false,
  };
}

/** Whether it is a tool that the caller's person keeps from them. */
export function isWithheldOperation({ server, scope }: McpCaller, name: string): boolean {
  const operation = OPERATIONS.find((one) => `${MCP_OPERATION_PREFIX}${one.name}` === name);
  if (operation?.writes !== true) return false;
  const { access } = server.innerCalls.find(operation.route);
  return access.kind === "environment" && scope.grant?.withheld.has(access.permission) === true;
}

/** @returns null for a tool that is not there, or not for this caller. */
export async function callOperation(
  caller: McpCaller,
  name: string,
  given: Fields,
): Promise<ToolResult | null> {
  const operation = OPERATIONS.find((one) => `${MCP_OPERATION_PREFIX}${one.name}` === name);
  if (operation === undefined || (caller.readonly && operation.writes === true)) return null;
  const route = caller.server.innerCalls.find(operation.route);
  const known = inputSchema(route)["properties"] as Fields;
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0)
    return textResult(`invalid_request: ${unknown.join(", ")}: unknown field; see the tool's schema.`, {
      isError: true,
    });
  const answer = await askRoute(caller, operation.route, split(route, given));
  if (!answer.ok) return answer.result;
  return operation.present?.(answer.json, answer.bytes) ?? jsonResult(answer.json);
}

function split(
  { params = {}, query, body }: Route,
  given: Fields,
): { params: Fields; query: Fields; body?: Fields } {
  const among = (schema: unknown): Fields => {
    const { properties = {} } = (schema ?? {}) as { properties?: Fields };
    return Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(properties, name)));
  };
  // A part that is missing is no path of ours: the route says what it needs.
  const names = Object.keys(params).map((name) => [name, given[name] ?? "-"]);
  return {
    params: Object.fromEntries(names) as Fields,
    query: among(query),
    ...(body !== undefined && { body: among(body) }),
  };
}

function logText(json: unknown): ToolResult {
  const { logs, next_cursor: cursor } = json as {
    logs: { stream: string; data: string }[];
    next_cursor: string | null;
  };
  const text = logs.map(({ data }) => Buffer.from(data, "base64").toString()).join("");
  return textResult(cursor === null ? text : `${text}\n(There is more: read on with cursor ${cursor}.)`);
}

function fileText(_json: unknown, bytes: Buffer): ToolResult {
  if (!isUtf8(bytes))
    return textResult(`The file has ${bytes.length} bytes that are no text.`, { isError: true });
  const text = bytes.toString();
  const isCut = text.length > MAX_FILE_CHARACTERS;
  return textResult(
    isCut ? `${text.slice(0, MAX_FILE_CHARACTERS)}\n(The file has ${text.length} characters.)` : text,
  );
}
