import { DEFAULT_SANDBOX, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { listSandboxes } from "./sandbox-reads.ts";
import { insertSandboxes } from "./sandbox-writes.ts";

/** Gives every sandbox of a manifest its id for life. */
export async function registerSandboxes(
  db: Queryable,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
  declaredIds: readonly string[],
): Promise<void> {
  if (declaredIds.length === 0) return;
  const sandboxes = declaredIds.map((declaredId) => ({ declaredId, id: newUuid<"sbx">() }));
  await insertSandboxes(db, environmentId, sandboxes);
}

/** The built-in sandbox has an id from the first time that anybody looks for sandboxes. */
export async function ensureDefaultSandbox(
  db: Queryable,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
): Promise<void> {
  const [known] = await listSandboxes(db, environmentId, [DEFAULT_SANDBOX], null, 1);
  if (known === undefined) await registerSandboxes(db, newUuid, environmentId, [DEFAULT_SANDBOX]);
}
