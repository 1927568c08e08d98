import { encodeId, type Secret } from "@keelson/contract";
import type { SecretRow } from "../../../core/secrets/secret-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

export const toSecret = (row: SecretRow): Secret => ({
  id: encodeId("sec", row.id),
  project_id: encodeId("proj", row.projectId),
  environment_id: encodeId("env", row.environmentId),
  name: row.name,
  status: row.status,
  version: row.version,
  rotated_at: toTimestampOrNull(row.rotatedAt),
  revoked_at: toTimestampOrNull(row.revokedAt),
  last_used_at: toTimestampOrNull(row.lastUsedAt),
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});
