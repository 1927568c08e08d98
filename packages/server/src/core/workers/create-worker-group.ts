import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { findWorkerGroup, type WorkerGroupRow } from "./worker-group-reads.ts";
import { insertWorkerGroup } from "./worker-group-writes.ts";

/**
 * Makes a group of workers. It has none until some enroll with a token of it.
 *
 * @throws DomainError `already_exists`
 */
export async function createWorkerGroup(
  tx: Tx,
  name: string,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<WorkerGroupRow> {
  const id = newUuid<"wgrp">();
  if (!(await insertWorkerGroup(tx, { id, name, now })))
    throw new DomainError(
      "already_exists",
      `There is a worker group called ${name}. Give another name, or use that one.`,
      { name },
    );
  const group = await findWorkerGroup(tx, id);
  if (group === null) throw new Error("A worker group vanished while it was made.");
  return group;
}
