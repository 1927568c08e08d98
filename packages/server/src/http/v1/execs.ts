import { CreateExec, ExecResult, LIMITS } from "@keelson/contract";
import { Type } from "typebox";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { isOver } from "../../core/processes/processes.ts";
import {
  listOutputs,
  type ProcessKey,
  type ProcessRow,
  type StoredStream,
} from "../../core/processes/process-reads.ts";
import type { ServerContext } from "../../server-context.ts";
import { createOne, processKeyOf, requireProcess } from "../process-answers.ts";
import { EXAMPLE_EXEC_RESULT } from "../process-examples.ts";
import { route, type Reply, type Route } from "../route.ts";
import { toExecResult } from "../wire/process.ts";
import { workspaceIdOf } from "../workspace-answers.ts";

const tag = "Workspaces";
const MAX_TIMEOUT_MS = 600_000;
/** A workspace that is on no machine has to be put on one first; the exec's own time begins when it is started. */
const MAX_START_MS = 60_000;
const SAFETY_READ_MS = 2_000;

/** The last bytes of an output, up to the bound: what a command said at its end is what tells. */
async function lastOutput(server: ServerContext, process: ProcessRow, stream: StoredStream): Promise<Buffer> {
  const total = stream === "stdout" ? process.stdoutBytes : process.stderrBytes;
  const from = Math.max(0, total - LIMITS.execOutputBytes);
  const parts: Buffer[] = [];
  for (let at = from; at < total;) {
    const chunks = await listOutputs(server.db, process, stream, at, LIMITS.pageMax, LIMITS.execOutputBytes);
    if (chunks.length === 0) break;
    for (const { position, data } of chunks) {
      parts.push(data);
      at = position + data.length;
    }
  }
  return Buffer.concat(parts);
}

async function answerResult(server: ServerContext, process: ProcessRow): Promise<Reply> {
  const [stdout, stderr] = await Promise.all([
    lastOutput(server, process, "stdout"),
    lastOutput(server, process, "stderr"),
  ]);
  return { status: 200, body: toExecResult(process, stdout, stderr) };
}

/** The process once it has ended. Its worker ends it at its timeout; this only bounds the wait for a worker. */
async function waitForEnd(server: ServerContext, key: ProcessKey, signal: AbortSignal): Promise<ProcessRow> {
  const begun = server.clock();
  for (;;) {
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    // Registered before the read: what changes during it wakes this again.
    const woken = server.wakes.wait(wakeKeys.process(key.id), SAFETY_READ_MS, until);
    try {
      const process = await requireProcess(server, key);
      const deadline =
        process.startedAt === null
          ? begun + MAX_START_MS
          : process.startedAt + (process.timeoutMs ?? MAX_TIMEOUT_MS) + MAX_START_MS;
      if (isOver(process.status) || signal.aborted || server.clock() > deadline) return process;
      await woken;
    } finally {
      ended.abort();
    }
  }
}

export const execRoutes: Route[] = [
  route({
    family: "v1",
    method: "POST",
    path: "/v1/workspaces/:id/exec",
    operationId: "execInWorkspace",
    summary: "Run a command and wait for it",
    description:
      "Puts the workspace on a machine if it is on none, runs `command` without a shell, and answers when it has ended: with the last MiB of stdout and stderr " +
      "in base64. Past `timeout` (default 60s, at most 10m) it is killed and `timed_out` is true. When no machine takes the workspace within a minute " +
      "the answer is the process as it is; read it again by its `id`. The caller hanging up ends nothing.",
    tag,
    access: { kind: "environment", permission: "workspaces.exec" },
    params: Type.Object({ id: Type.String() }),
    body: CreateExec,
    bodyLimitBytes: LIMITS.bodyBytes,
    idempotency: "own",
    responses: { 200: { description: "The process, ended.", schema: ExecResult } },
    examples: {
      request: { command: ["sh", "-c", "echo hello"], timeout: "30s" },
      response: EXAMPLE_EXEC_RESULT,
    },
    handle: async ({ server, scope, params, body, request }) => {
      const workspaceId = workspaceIdOf(params.id);
      const exec = {
        kind: "exec",
        body: { ...body, stdin: body.stdin ?? "", timeout: body.timeout ?? "60s" },
      } as const;
      const { id, reply } = await createOne(server, scope, workspaceId, exec, request, MAX_TIMEOUT_MS);
      const key = { environmentId: scope.environmentId, workspaceId, kind: "exec", id } as const;
      const answer = await answerResult(server, await waitForEnd(server, key, request.signal));
      return { ...answer, ...("headers" in reply ? { headers: reply.headers ?? {} } : {}) };
    },
  }),
  route({
    family: "v1",
    method: "GET",
    path: "/v1/workspaces/:id/exec/:process_id",
    operationId: "getExecInWorkspace",
    summary: "Get a command's result",
    description: "As the waiting call answers it, or as it is by now.",
    tag,
    access: { kind: "environment", permission: "workspaces.read" },
    params: Type.Object({ id: Type.String(), process_id: Type.String() }),
    responses: { 200: { description: "The process.", schema: ExecResult } },
    examples: { response: EXAMPLE_EXEC_RESULT },
    handle: async ({ server, scope, params }) =>
      answerResult(
        server,
        await requireProcess(server, processKeyOf(scope, params.id, "exec", params.process_id)),
      ),
  }),
];
