import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import {
  createLiveProcess,
  createProcess,
  type CreatedProcess,
  type ProcessCreation,
} from "../processes/create-process.ts";
import { requestMaterialization } from "./request-materialization.ts";

/**
 * Creates a process where its workspace is live, or else asks for that. The worker of a live workspace is the caller's to tell.
 *
 * @param givenTo see `createLiveProcess`.
 *
 * @throws DomainError `not_found`, `invalid_state` when the workspace is being deleted, `workspace_busy` while it is uncommitted.
 */
export async function requestProcess(
  tx: Tx,
  newUuid: NewUuid,
  workerGroupId: Uuid<"wgrp">,
  creation: ProcessCreation,
  givenTo: Uuid<"mat"> | null = null,
): Promise<CreatedProcess> {
  const inLive = await createLiveProcess(tx, newUuid, creation, givenTo);
  return inLive ?? requestWithWorkspace(tx, newUuid, workerGroupId, creation);
}

/** As `requestProcess`, of a workspace that was not live a moment ago. */
export async function requestWithWorkspace(
  tx: Tx,
  newUuid: NewUuid,
  workerGroupId: Uuid<"wgrp">,
  creation: ProcessCreation,
): Promise<CreatedProcess> {
  const place = { ...creation, workerGroupId };
  const workspace = await requestMaterialization(tx, newUuid, place, creation.createdAt);
  const process = await createProcess(tx, newUuid, creation);
  const { materializationId, materializationStatus, workerId } = workspace;
  const isLive = materializationStatus === "live" && materializationId !== null && workerId !== null;
  return { process, live: isLive ? { materializationId, workerId } : null };
}
