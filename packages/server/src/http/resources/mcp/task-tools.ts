import { decodeId, isTerminalRunStatus, type EntrypointDeclaration, type Run } from "@keelson/contract";
import { DomainError } from "../../../domain-error.ts";
import { waitForRunEnd } from "../../../core/runs/wait-for-run-end.ts";
import { askRoute, type Answered, type McpCaller } from "./caller.ts";
import type { Followed } from "../../edge/event-stream.ts";
import { followTask, withQuestion } from "./questions.ts";
import { isFields, RELATED_TASK, RPC_ERRORS, RpcError, textResult } from "./protocol.ts";
import type { Fields, McpTask, Tool, ToolResult } from "./protocol.ts";

/** A call that is no task is answered within this: clients give a request 60 seconds. */
const CALL_WAIT_MS = 45_000;
const POLL_INTERVAL_MS = 1_000;
/** What a caller must be permitted to have tasks as tools. */
const STARTS = "tasks.start";

type TaskTool = EntrypointDeclaration & { mcp: { description: string } };

const isTool = (declaration: EntrypointDeclaration): declaration is TaskTool =>
  declaration.mcp !== undefined && declaration.mcp !== null;

/** The tasks of the current deployment that declare to be tools. */
async function declaredTools(caller: McpCaller): Promise<TaskTool[]> {
  const { scope, readonly } = caller;
  return readonly || !scope.permissions.has(STARTS) ? [] : allTools(caller);
}

async function allTools({ server, scope }: McpCaller): Promise<TaskTool[]> {
  const deployment = await server.deployments.current(scope.environmentId);
  return [...(deployment?.tasks.values() ?? [])].map(({ declaration }) => declaration).filter(isTool);
}

/** Whether it is a task that the caller's person keeps from them. */
export const isWithheldTask = async (caller: McpCaller, name: string): Promise<boolean> =>
  caller.scope.grant?.withheld.has(STARTS) === true && (await allTools(caller)).some(({ id }) => id === name);

export const listTaskTools = async (caller: McpCaller): Promise<Tool[]> =>
  (await declaredTools(caller)).map((declaration) => ({
    name: declaration.id,
    description: declaration.mcp.description,
    inputSchema: inputSchema(declaration),
    execution: { taskSupport: "optional" },
  }));

/** A tool takes an object. A payload that may be anything else is one field of it. */
const takesObject = ({ payload_schema: schema }: EntrypointDeclaration): boolean =>
  isFields(schema) && schema["type"] === "object";

const inputSchema = (declaration: EntrypointDeclaration): Fields =>
  takesObject(declaration)
    ? (declaration.payload_schema as Fields)
    : {
        type: "object",
        properties: { payload: declaration.payload_schema ?? {} },
        additionalProperties: false,
      };

/** Starts the task. @returns null where there is no such tool for the caller. */
export async function startTool(
  caller: McpCaller,
  name: string,
  given: Fields,
): Promise<{ run: Run } | { refused: ToolResult } | null> {
  const declaration = (await declaredTools(caller)).find(({ id }) => id === name);
  if (declaration === undefined) return null;
  const payload = takesObject(declaration) ? given : given["payload"];
  const body = payload === undefined ? {} : { payload };
  const started = await askRoute(caller, "startTask", { params: { declaredID: name }, body });
  return started.ok ? { run: started.json as Run } : { refused: started.result };
}

/** Waits a while for the run, and says how far it is. */
export async function waitForTool(caller: McpCaller, run: Run): Promise<ToolResult> {
  await waitForEnd(caller, run.id, CALL_WAIT_MS);
  const read = await readRun(caller, run.id);
  return read.ok ? resultOf(read.json as Run) : read.result;
}

export async function getTask(caller: McpCaller, taskId: string): Promise<McpTask> {
  return withQuestion(caller, toTask(await requireRun(caller, taskId)));
}

/** What the tool's call would have answered, when it is known. */
export async function getTaskResult(
  caller: McpCaller,
  taskId: string,
): Promise<ToolResult & { _meta: Fields }> {
  let run = await requireRun(caller, taskId);
  while (!isTerminalRunStatus(run.status) && !caller.request.signal.aborted) {
    await waitForEnd(caller, taskId, CALL_WAIT_MS);
    run = await requireRun(caller, taskId);
  }
  // The server stops. What is not known yet is no result.
  if (!isTerminalRunStatus(run.status))
    throw new DomainError("unavailable", `Run ${taskId} is still ${run.status}; ask for its result again.`);
  return taskResult(run);
}

const taskResult = (run: Run): ToolResult & { _meta: Fields } => ({
  ...resultOf(run),
  _meta: { [RELATED_TASK]: { taskId: run.id } },
});

/** The same as a stream, on which the run asks the client's user while it waits for one. */
export async function followTaskResult(
  caller: McpCaller,
  rpcId: string | number,
  taskId: string,
): Promise<Followed> {
  const run = await requireRun(caller, taskId);
  return followTask(caller, rpcId, run, async () => {
    try {
      return { result: taskResult(await requireRun(caller, taskId)) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { error: { code: error.code, message: error.message } };
    }
  });
}

export async function cancelTask(caller: McpCaller, taskId: string): Promise<McpTask> {
  const answer = await askRoute(caller, "cancelRun", { params: { id: taskId } });
  if (!answer.ok) throw refused(answer);
  return toTask(answer.json as Run);
}

async function waitForEnd({ server, scope, request }: McpCaller, id: string, waitMs: number): Promise<void> {
  const runId = decodeId("run", id);
  if (runId !== null) await waitForRunEnd(server, scope.environmentId, runId, waitMs, request.signal);
}

const readRun = (caller: McpCaller, id: string): Promise<Answered> =>
  askRoute(caller, "getRun", { params: { id } });

async function requireRun(caller: McpCaller, taskId: string): Promise<Run> {
  const read = await readRun(caller, taskId);
  if (!read.ok) throw refused(read);
  return read.json as Run;
}

const refused = ({ result }: Extract<Answered, { ok: false }>): RpcError =>
  new RpcError(RPC_ERRORS.invalidParams, result.content.map(({ text }) => text).join(""));

function resultOf(run: Run): ToolResult {
  const { id, status, output, failure, status_reason: reason } = run;
  const structuredContent = { run_id: id, status, output };
  if (status === "succeeded")
    return textResult(typeof output === "string" ? output : JSON.stringify(output), { structuredContent });
  if (isTerminalRunStatus(status))
    return textResult(`Run ${id} ${status}${failure === null ? "" : `: ${failure.message}`}`, {
      ...{ structuredContent, isError: true },
    });
  const why = reason === null ? "" : ` ${reason.message}`;
  return textResult(`Run ${id} is ${status}.${why} Ask for it again with keelson_get_run.`, {
    structuredContent,
  });
}

export function toTask(run: Run): McpTask {
  const { id, status, status_reason: reason, failure, created_at, started_at, finished_at } = run;
  const statusMessage = failure?.message ?? reason?.message;
  return {
    taskId: id,
    status: taskStatus(status),
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: created_at,
    lastUpdatedAt: finished_at ?? started_at ?? created_at,
    ttl: null,
    pollInterval: POLL_INTERVAL_MS,
  };
}

function taskStatus(status: Run["status"]): McpTask["status"] {
  if (status === "succeeded") return "completed";
  if (status === "cancelled") return "cancelled";
  return isTerminalRunStatus(status) ? "failed" : "working";
}
