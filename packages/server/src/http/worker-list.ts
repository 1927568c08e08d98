import { decodeId, type WorkerStatus } from "@keelson/contract";
import { LOST_AFTER_MS } from "../core/workers/worker.ts";
import { listWorkers } from "../core/workers/worker-reads.ts";
import type { ServerContext } from "../server-context.ts";
import { answerPage } from "./answer-page.ts";
import type { Reply } from "./route.ts";
import { toWorker } from "./wire/worker.ts";

/** The workers of the installation, as administrators and those who scale them see them. */
export function answerWorkerList(
  server: ServerContext,
  query: { limit?: number; cursor?: string; worker_group_id?: string; status?: WorkerStatus },
): Promise<Reply> {
  const now = server.clock();
  const filter = {
    workerGroupId: query.worker_group_id === undefined ? null : decodeId("wgrp", query.worker_group_id),
    status: query.status ?? null,
    heardSince: now - LOST_AFTER_MS,
  };
  return answerPage(
    "workers",
    query,
    (before, limit) => listWorkers(server.db, filter, before, limit),
    (row) => toWorker(row, now),
  );
}
