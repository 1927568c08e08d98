import type { DeviceAuthorization } from "@keelson/contract";
import type { DeviceRow } from "../../../core/logins/device-reads.ts";
import { toTimestamp } from "../../edge/time.ts";

export const toDeviceAuthorization = (row: DeviceRow): DeviceAuthorization => ({
  user_code: row.userCode,
  client_id: row.clientId,
  status: row.status,
  created_at: toTimestamp(row.createdAt),
  expires_at: toTimestamp(row.expiresAt),
});
