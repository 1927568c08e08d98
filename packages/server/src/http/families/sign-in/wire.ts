import { encodeId, type DeviceAuthorization, type StartedDevice } from "@keelson/contract";
import type { DeviceRow } from "../../../core/logins/device-reads.ts";
import { DEVICE_CODE_MS, DEVICE_INTERVAL_SECONDS } from "../../../core/logins/login.ts";
import type { StartedDevice as DeviceCodes } from "../../../core/logins/start-device.ts";
import { toTimestamp } from "../../edge/time.ts";

export const toDeviceAuthorization = (row: DeviceRow): DeviceAuthorization => ({
  user_code: row.userCode,
  client_id: row.clientId,
  client: clientOf(row),
  status: row.status,
  created_at: toTimestamp(row.createdAt),
  expires_at: toTimestamp(row.expiresAt),
});

/** A client of OAuth is shown with the name that it gave itself. */
const clientOf = ({ oauthClientId, oauthAccess, clientId }: DeviceRow): DeviceAuthorization["client"] =>
  oauthClientId === null || oauthAccess === null
    ? null
    : { id: encodeId("ocl", oauthClientId), name: clientId, access: oauthAccess };

export function toStartedDevice({ deviceCode, userCode }: DeviceCodes, publicUrl: string): StartedDevice {
  const uri = `${publicUrl}/device`;
  return {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: uri,
    verification_uri_complete: `${uri}#user_code=${userCode}`,
    expires_in: DEVICE_CODE_MS / 1_000,
    interval: DEVICE_INTERVAL_SECONDS,
  };
}
