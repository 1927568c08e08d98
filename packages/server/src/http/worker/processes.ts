import {
  LIMITS,
  MaterializationAnswer,
  ProcessEnded,
  ProcessOutput,
  ProcessOutputStored,
  ProcessStarted,
} from "@keelson/contract";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { reportEnded, reportOutput, reportStarted } from "../../core/processes/report-process.ts";
import type { Route } from "../route.ts";
import { bothMounts } from "./mounts.ts";

const tag = "processes";
const worker = { kind: "worker" } as const;
const taken = { 200: { description: "Taken, now or earlier.", schema: MaterializationAnswer } };

export const processReportRoutes: Route[] = [
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/processes/started",
    operationId: "startedProcess",
    summary: "Say that a process was started",
    description:
      "Before its first output. One that has ended meanwhile is 409 `invalid_state`: end it. Once started, a process is given to no other worker.",
    access: worker,
    body: ProcessStarted,
    responses: taken,
    handle: async ({ server, scope, body }) => {
      const process = await server.db.transaction((tx) =>
        reportStarted(tx, scope.workerId, body, server.clock()),
      );
      server.wakes.wake(wakeKeys.process(process.id));
      return { status: 200, body: { materialization_id: body.materialization_id, status: "running" } };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/processes/output",
    operationId: "appendProcessOutput",
    summary: "Append output",
    description:
      "Chunks with their offset, in order. Bytes that are stored already are not stored again, so a call whose answer was lost is repeated as it was; bytes " +
      "after a gap are 409 `offset_mismatch` with what is stored. Reading no more from the process until this is answered is what paces it.",
    access: worker,
    body: ProcessOutput,
    bodyLimitBytes: LIMITS.workerAppendBytes,
    responses: { 200: { description: "Bytes of each output that are stored.", schema: ProcessOutputStored } },
    handle: async ({ server, scope, body }) => {
      const { process, ends } = await server.db.transaction((tx) =>
        reportOutput(tx, scope.workerId, body, server.clock()),
      );
      server.wakes.wake(wakeKeys.process(process.id));
      const isPty = process.kind === "pty";
      const stored = {
        stdout: isPty ? 0 : ends.stdout,
        stderr: ends.stderr,
        output: isPty ? ends.stdout : 0,
      };
      return { status: 200, body: stored };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/workspaces/processes/ended",
    operationId: "endedProcess",
    summary: "Say that a process has ended",
    description:
      "After all of its output, and after what it changed was committed: `version_id` is that version. `exited` has either an exit code or a signal. " +
      "A repeat changes nothing.",
    access: worker,
    body: ProcessEnded,
    responses: taken,
    handle: async ({ server, scope, body }) => {
      const process = await server.db.transaction((tx) =>
        reportEnded(tx, scope.workerId, body, server.clock()),
      );
      server.wakes.wake(wakeKeys.process(process.id));
      return { status: 200, body: { materialization_id: body.materialization_id, status: "ended" } };
    },
  }),
];
