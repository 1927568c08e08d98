import { encodeId, formatDuration, type GroupCapacity } from "@keelson/contract";
import { freeSlots, recommendWorkers, type GroupLoad } from "../../../core/capacity/capacity.ts";
import { toTimestamp } from "../../edge/time.ts";

export const toGroupCapacity = (load: GroupLoad, now: number): GroupCapacity => ({
  id: encodeId("wgrp", load.id),
  name: load.name,
  queued: load.queued,
  running: load.running,
  oldest_queued_age:
    load.oldestQueuedAt === null ? null : formatDuration(Math.max(0, now - load.oldestQueuedAt)),
  workspaces_requested: load.workspacesRequested,
  workspaces_live: load.workspacesLive,
  deployments_pending: load.deploymentsPending,
  workers: load.workers,
  slots: load.slots,
  free_slots: freeSlots(load),
  recommended_workers: recommendWorkers(load),
  at: toTimestamp(now),
});
