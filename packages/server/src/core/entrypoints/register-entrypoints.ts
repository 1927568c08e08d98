import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import type { EntrypointKind } from "./entrypoint-reads.ts";
import { insertEntrypoints } from "./entrypoint-writes.ts";

/** Gives every entrypoint of a manifest its id for life. */
export async function registerEntrypoints(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
  entrypoints: readonly { kind: EntrypointKind; declaredId: string }[],
): Promise<void> {
  if (entrypoints.length === 0) return;
  await insertEntrypoints(
    tx,
    environmentId,
    entrypoints.map((entrypoint) => ({ ...entrypoint, id: newUuid() })),
  );
}
