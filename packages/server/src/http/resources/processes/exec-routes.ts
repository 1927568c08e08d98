import { CreateExec, decodeId, ExecResult, LIMITS, type Uuid } from "@keelson/contract";
import { createKeptProcess, requireProcess } from "./operate-process.ts";
import { EXAMPLE_EXEC_RESULT } from "./examples.ts";
import { resultReply, waitForEnd } from "./exec-result.ts";
import { fieldsOf } from "../../edge/keep-reply.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";

const tag = "Workspaces";
const MAX_TIMEOUT_MS = 600_000;
export const execRoutes: RouteDefinition[] = [
  route({
    in: ["v1"],
    method: "POST",
    path: "/workspaces/:id/exec",
    name: "execInWorkspace",
    summary: "Run a command and wait for it",
    description:
      "Starts the workspace on a machine if necessary, runs `command` without a shell, and answers when it has ended, with the last MiB of stdout " +
      "and stderr in base64. After `timeout` (default 60s, at most 10m) the command is killed and `timed_out` is true. When no machine takes the " +
      "workspace within a minute, the answer is the waiting process; read it again by its `id`. Closing the connection ends nothing.",
    tag,
    access: { kind: "environment", permission: "workspaces.exec" },
    params: { id: Id("ws") },
    body: CreateExec,
    bodyLimitBytes: LIMITS.bodyBytes,
    idempotency: "own",
    responses: { 200: { description: "The process, ended.", schema: ExecResult } },
    examples: {
      request: { command: ["sh", "-c", "echo hello"], timeout: "30s" },
      response: EXAMPLE_EXEC_RESULT,
    },
    handle: async (call) => {
      const { server, scope, params, body, request } = call;
      const exec = { ...body, stdin: body.stdin ?? "", timeout: body.timeout ?? "60s" };
      const kept = await createKeptProcess(call, params.id, { kind: "exec", body: exec }, MAX_TIMEOUT_MS);
      const id = decodeId("exec", fieldsOf<{ id: string }>(kept).id) as Uuid<"exec">;
      const key = { environmentId: scope.environmentId, workspaceId: params.id, kind: "exec", id } as const;
      return resultReply(server, await waitForEnd(server, key, request.signal), kept.headers);
    },
  }),
  route({
    in: ["v1"],
    method: "GET",
    path: "/workspaces/:id/exec/:process_id",
    name: "getExecInWorkspace",
    summary: "Get a command's result",
    description: "The result that the waiting call returns, or the current state.",
    tag,
    access: { kind: "environment", permission: "workspaces.read" },
    params: { id: Id("ws"), process_id: Id("exec") },
    responses: { 200: { description: "The process.", schema: ExecResult } },
    examples: { response: EXAMPLE_EXEC_RESULT },
    handle: async ({ server, scope, params }) => {
      const key = { environmentId: scope.environmentId, workspaceId: params.id, kind: "exec" } as const;
      return resultReply(server, await requireProcess(server.db, { ...key, id: params.process_id }));
    },
  }),
];
