import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { insertSandboxBase } from "./sandbox-writes.ts";

/** The next workspaces with the same setup begin as this version. */
export const keepBase = (
  tx: Tx,
  environmentId: Uuid<"env">,
  setupDigest: Buffer,
  versionId: Uuid<"wsv">,
  now: number,
): Promise<void> => insertSandboxBase(tx, environmentId, setupDigest, versionId, now);
