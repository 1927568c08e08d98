import {
  LIMITS,
  MaterializationAnswer,
  ProcessEnded,
  ProcessOutput,
  ProcessOutputStored,
  ProcessStarted,
} from "@keelson/contract";
import {
  takeEnded,
  takeOutput,
  takeStarted,
  type ReportContext,
} from "../../../core/processes/take-report.ts";
import type { RouteDefinition } from "../../edge/route.ts";
import { offerOutput } from "../../resources/processes/follow-output.ts";
import { bothMounts } from "./mounts.ts";

const tag = "processes";
const worker = { kind: "worker" } as const;
const taken = { 200: { description: "Taken, now or earlier.", schema: MaterializationAnswer } };

export const processReportRoutes: RouteDefinition[] = [
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/processes/started",
    name: "startedProcess",
    summary: "Say that a process was started",
    description:
      "The worker calls this before it sends output. If the process has ended meanwhile, the answer is 409 `invalid_state`: end it. The server gives a started process to no other worker.",
    access: worker,
    body: ProcessStarted,
    responses: taken,
    handle: async ({ server, scope, body }) => {
      await takeStarted(server, scope.workerId, body, server.clock());
      return { status: 200, body: { materialization_id: body.materialization_id, status: "running" } };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/processes/output",
    name: "appendProcessOutput",
    summary: "Append output",
    description:
      "Chunks with their offset, in order. Bytes that are already stored are not stored again, so repeat the same request when its response is " +
      "lost. Bytes after a gap are 409 `offset_mismatch` with the stored offset. For backpressure, read no more from the process until the response" +
      " arrives.",
    access: worker,
    body: ProcessOutput,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "Bytes of each output that are stored.", schema: ProcessOutputStored } },
    handle: async ({ server, scope, body }) => {
      const context: ReportContext = {
        db: server.db,
        wakes: server.wakes,
        offer: (processId, stored) => offerOutput(server, processId, stored),
      };
      const stored = await takeOutput(context, scope.workerId, body, server.clock());
      return { status: 200, body: stored };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/processes/ended",
    name: "endedProcess",
    summary: "Say that a process has ended",
    description:
      "Call it after all output, and after the commit of the changes: `version_id` is that version. `exited` has either an exit code or a signal. A" +
      " repeated request changes nothing.",
    access: worker,
    body: ProcessEnded,
    responses: taken,
    handle: async ({ server, scope, body }) => {
      await takeEnded(server, scope.workerId, body, server.clock());
      return { status: 200, body: { materialization_id: body.materialization_id, status: "ended" } };
    },
  }),
];
