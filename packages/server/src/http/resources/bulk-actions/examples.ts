import type { CreateBulkAction } from "@keelson/contract";

export const EXAMPLE_CREATE_BULK_ACTION: CreateBulkAction = {
  action: "cancel",
  filter: { task: "send-report", status: ["queued", "running"] },
  reason: "Wrong recipients",
};
