import { MCP_OPERATION_PREFIX } from "@keelson/contract";
import { SERVER_VERSION } from "../../../version.ts";
import type { McpCaller } from "./caller.ts";
import { callOperation, listOperations } from "./operations.ts";
import { fieldsOf, PROTOCOL_VERSIONS, RPC_ERRORS, RpcError, textOf, type Fields } from "./protocol.ts";
import {
  cancelTask,
  getTask,
  getTaskResult,
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
  if (name.startsWith(MCP_OPERATION_PREFIX)) {
    if (isTask)
      throw new RpcError(RPC_ERRORS.methodNotFound, `${name} answers at once: call it without a task.`);
    return (await callOperation(caller, name, given)) ?? unknownTool(name);
  }
  const started = (await startTool(caller, name, given)) ?? unknownTool(name);
  if ("refused" in started) return started.refused;
  return isTask ? { task: toTask(started.run) } : waitForTool(caller, started.run);
}

function unknownTool(name: string): never {
  throw new RpcError(
    RPC_ERRORS.invalidParams,
    `There is no tool ${name} for this credential; tools/list names those that there are.`,
  );
}
