import { CreateExec, ExecResult, LIMITS } from "@keelson/contract";
import { Type } from "typebox";
import { createOne, processKeyOf, requireProcess } from "../process-answers.ts";
import { EXAMPLE_EXEC_RESULT } from "../process-examples.ts";
import { answerResult, waitForEnd } from "../exec-result.ts";
import { route, type Route } from "../route.ts";
import { workspaceIdOf } from "../workspace-answers.ts";

const tag = "Workspaces";
const MAX_TIMEOUT_MS = 600_000;
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
