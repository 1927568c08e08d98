import { decodeId, ExecResult, parseDuration, ProcessResult } from "@keelson/contract";
import { resumeAwaitedExec } from "../../../core/processes/resume-awaited-exec.ts";
import { requireUsable, requireWorkspace } from "../../../core/workspaces/require-workspace.ts";
import { findHeldRun } from "../../../core/executions/execution-reads.ts";
import { DomainError, invalidRequest, notFound } from "../../../domain-error.ts";
import { resultReply, waitForEnd } from "../../resources/processes/exec-result.ts";
import { requireProcess } from "../../resources/processes/operate-process.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { decodeLease } from "./decode-lease.ts";
import { bothMounts } from "./mounts.ts";

const worker = { kind: "worker" } as const;
const DEFAULT_WAIT_MS = 25_000;
const MAX_WAIT_MS = 60_000;

export const runExecRoutes: RouteDefinition[] = bothMounts("processes", {
  method: "POST",
  path: "/workspaces/processes/result",
  name: "readProcessResult",
  summary: "Read how a run's command ended",
  description:
    "Of a command in the workspace of a leased run, under the run's lease. Answers when it has ended, with the last MiB of stdout and stderr in base64, or " +
    "after `wait` (default 25s, at most 60s) as it is then: ask again. A command that was lost and is to run again is started when this is asked. " +
    "`invalid_state` when it was cancelled because the workspace is being deleted: stop the run.",
  access: worker,
  body: ProcessResult,
  responses: { 200: { description: "The process.", schema: ExecResult } },
  refusals: [404, 409],
  handle: async ({ server, scope, body, request }) => {
    const waitMs = body.wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(body.wait) ?? 0);
    if (waitMs > MAX_WAIT_MS) throw invalidRequest([{ path: "wait", message: "may be 60s at most" }]);
    const lease = decodeLease(body);
    const held = lease === null ? null : { ...lease, workerId: scope.workerId };
    const run = held === null ? null : await findHeldRun(server.db, held);
    if (held === null || run === null)
      throw new DomainError("lease_lost", "There is no such lease of an execution; stop it.");
    const id = decodeId("exec", body.process_id);
    const { workspaceId } = run;
    if (id === null || workspaceId === null) throw notFound();
    const key = { environmentId: held.environmentId, workspaceId, kind: "exec", id } as const;
    await resumeAwaitedExec(server, await requireProcess(server.db, key), held);
    const process = await waitForEnd(server, key, request.signal, waitMs);
    // A deletion cancels what has not begun. That is no outcome for code to go on with: it ends with its workspace.
    if (process.status === "cancelled")
      requireUsable(await requireWorkspace(server.db, key.environmentId, key.workspaceId));
    return resultReply(server, process);
  },
});
