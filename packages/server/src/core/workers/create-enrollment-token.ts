import { CREDENTIAL_KINDS, decodeId, parseDuration, type CreateEnrollmentToken } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { findEnrollmentToken, findWorkerGroup, type EnrollmentTokenRow } from "./worker-group-reads.ts";
import { insertEnrollmentToken } from "./worker-group-writes.ts";

const MAX_LIFE_MS = 3_650 * 86_400_000;

/**
 * Makes a token by which machines enroll as workers of a group, as many as like; for ever, or for a time.
 *
 * @returns the token's text, which is stored nowhere, and its row
 * @throws DomainError `invalid_request` for a group that there is not, and for a life of nothing or of more than ten years
 */
export async function createEnrollmentToken(
  tx: Tx,
  { name, worker_group_id: group, expires_in: expiresIn }: CreateEnrollmentToken,
  { newUuid, makeCredential, now }: { newUuid: NewUuid; makeCredential: MakeCredential; now: number },
): Promise<{ text: string; token: EnrollmentTokenRow }> {
  const lifeMs = expiresIn === undefined || expiresIn === null ? null : (parseDuration(expiresIn) ?? 0);
  if (lifeMs !== null && (lifeMs <= 0 || lifeMs > MAX_LIFE_MS))
    throw invalidRequest([{ path: "expires_in", message: "must be over 0 and at most 3650d" }]);
  const workerGroupId = decodeId("wgrp", group);
  if (workerGroupId === null || (await findWorkerGroup(tx, workerGroupId)) === null)
    throw invalidRequest([{ path: "worker_group_id", message: "there is no such worker group" }]);
  const { text, digest } = makeCredential(CREDENTIAL_KINDS.enrollment);
  const id = newUuid<"enr">();
  const expiresAt = lifeMs === null ? null : now + lifeMs;
  await insertEnrollmentToken(tx, { id, digest, workerGroupId, name, expiresAt, now });
  const token = await findEnrollmentToken(tx, id);
  if (token === null) throw new Error("An enrollment token vanished while it was made.");
  return { text, token };
}
