import type { Database } from "../../db/pool.ts";
import { deleteUnusedVersions } from "./secret-writes.ts";

/** Drops replaced values that no attempt can ask for any more. */
export const forgetVersions = (db: Database, now: number): Promise<void> =>
  db.transaction((tx) => deleteUnusedVersions(tx, now));
