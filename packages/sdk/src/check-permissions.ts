import { RUN_PERMISSIONS } from "@keelson/contract/plain";
import { UsageError } from "./keelson-error.ts";

/** Throws a UsageError for a declared permission that no run can have. */
export function checkPermissions(kind: string, id: string, permissions: readonly string[] = []): void {
  const known: readonly string[] = RUN_PERMISSIONS;
  const wrong = permissions.find((permission) => !known.includes(permission));
  if (wrong === undefined) return;
  throw new UsageError(
    `${kind}(): "${id}" declares the permission ${JSON.stringify(wrong)}, which no run can have. Use some of: ${known.join(", ")}`,
  );
}
