import { MCP_OPERATION_PREFIX, OAUTH_SCOPES } from "@keelson/contract";
import { DomainError } from "../../../domain-error.ts";
import { SERVER_VERSION } from "../../../version.ts";
import type { McpCaller } from "./caller.ts";
import { callOperation, isWithheldOperation, listOperations } from "./operations.ts";
import { fieldsOf, PROTOCOL_VERSIONS, RPC_ERRORS, RpcError, textOf, type Fields } from "./protocol.ts";
import {
  cancelTask,
  getTask,
  getTaskResult,
  isWithheldTask,
  listTaskTools,
  startTool,
  toTask,
  waitForTool,
} from "./task-tools.ts";

type Method = (caller: McpCaller, params: Fields) => Promise<Fields>;

const INSTRUCTIONS =
  "Tools without a prefix are tasks of this environment: each call starts a run. A call that takes longer than 45 seconds answers with the run's id. " +
  `Tools that begin with ${MCP_OPERATION_PREFIX} look at and operate the installation.`;

/** Of each request by itself: nothing is kept between two of them, so any server answers any of them. */
export const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    "initialize",
    async (_caller, { protocolVersion }) => ({
      protocolVersion:
        PROTOCOL_VERSIONS.find((version) => version === protocolVersion) ?? PROTOCOL_VERSIONS[0],
      capabilities: { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } },
      serverInfo: { name: "keelson", title: "Keelson", version: SERVER_VERSION },
      instructions: INSTRUCTIONS,
    }),
  ],
  ["ping", async () => ({})],
  [
    "tools/list",
    async (caller) => ({ tools: [...(await listTaskTools(caller)), ...listOperations(caller)] }),
  ],
  ["tools/call", callTool],
  ["tasks/get", async (caller, params) => ({ ...(await getTask(caller, textOf(params, "taskId"))) })],
  ["tasks/result", (caller, params) => getTaskResult(caller, textOf(params, "taskId"))],
  ["tasks/cancel", async (caller, params) => ({ ...(await cancelTask(caller, textOf(params, "taskId"))) })],
]);

async function callTool(caller: McpCaller, params: Fields): Promise<Fields> {
  const name = textOf(params, "name");
  const given = fieldsOf(params, "arguments");
  const isTask = params["task"] !== undefined;
  if (await isWithheld(caller, name)) throw insufficientScope(name);
  if (name.startsWith(MCP_OPERATION_PREFIX)) {
    if (isTask)
      throw new RpcError(RPC_ERRORS.methodNotFound, `${name} answers at once: call it without a task.`);
    return (await callOperation(caller, name, given)) ?? unknownTool(name);
  }
  const started = (await startTool(caller, name, given)) ?? unknownTool(name);
  if ("refused" in started) return started.refused;
  return isTask ? { task: toTask(started.run) } : waitForTool(caller, started.run);
}

/** Whether its person could let the client use the tool, and has not. */
const isWithheld = async (caller: McpCaller, name: string): Promise<boolean> =>
  (caller.scope.grant?.withheld.size ?? 0) > 0 &&
  (name.startsWith(MCP_OPERATION_PREFIX) ? isWithheldOperation(caller, name) : isWithheldTask(caller, name));

const insufficientScope = (name: string): DomainError =>
  new DomainError(
    "forbidden",
    `This client may look and not act, and ${name} acts. Connect it again, and let it look and act.`,
    { scope: OAUTH_SCOPES.join(" ") },
  );

function unknownTool(name: string): never {
  throw new RpcError(
    RPC_ERRORS.invalidParams,
    `There is no tool ${name} for this credential; tools/list names those that there are.`,
  );
}
