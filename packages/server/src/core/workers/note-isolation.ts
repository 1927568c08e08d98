import type { Isolation, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { noteWorkerIsolation } from "./worker-writes.ts";

/** A worker says what isolation works on its machine. */
export const noteIsolation = (db: Queryable, workerId: Uuid<"wkr">, isolation: Isolation): Promise<void> =>
  noteWorkerIsolation(db, workerId, isolation);
