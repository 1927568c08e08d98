import { CREDENTIAL_KINDS, decodeId, type MintWorkerToken, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { MakeCredential } from "../credentials/make-credential.ts";
import { checkProtocol } from "./check-protocol.ts";
import type { Watch } from "./silence-reads.ts";
import { findEnrollment, findWorker, isTokenOfGroup, isWorkerToken, type WorkerRow } from "./worker-reads.ts";
import { deleteSupersededTokens, insertWorker, insertWorkerToken, touchWorker } from "./worker-writes.ts";

export const WORKER_TOKEN_MS = 3_600_000;

export type MintContext = Watch & {
  newUuid: NewUuid;
  makeCredential: MakeCredential;
};

export type MintedToken = { token: string; expiresAt: number; worker: WorkerRow };

/**
 * Mints a worker's bearer token. An enrollment token makes a new worker of its group; a worker's id with its present token
 * renews, and the present token stays good for its own hour, so that a lost answer locks nobody out. A machine that slept for
 * longer presents its enrollment token besides, and is the worker that it was, as long as its token is kept: its leases,
 * workspaces and files are its own.
 *
 * @throws DomainError `unauthenticated` for an invalid credential, `unsupported_worker_protocol`, `invalid_request`.
 */
export async function mintWorkerToken(
  tx: Tx,
  request: MintWorkerToken,
  context: MintContext,
): Promise<MintedToken> {
  checkProtocol(request.worker_protocol_version);
  const { now } = context;
  const workerId = await identifyWorker(tx, request, context);
  await touchWorker(tx, workerId, null, context);
  const { text: token, digest } = context.makeCredential(CREDENTIAL_KINDS.worker);
  const expiresAt = now + WORKER_TOKEN_MS;
  await insertWorkerToken(tx, { digest, workerId, createdAt: now, expiresAt });
  if (request.token !== undefined)
    await deleteSupersededTokens(tx, workerId, credentialDigest(request.token), now);
  const worker = await findWorker(tx, workerId);
  if (worker === null) throw new Error("A worker vanished while its token was minted.");
  return { token, expiresAt, worker };
}

const refused = (what: string): DomainError =>
  new DomainError(
    "unauthenticated",
    `The ${what} is unknown, expired or revoked. Enroll again with a valid enrollment token.`,
  );

async function identifyWorker(
  tx: Tx,
  request: MintWorkerToken,
  { newUuid, now }: MintContext,
): Promise<Uuid<"wkr">> {
  const { enrollment_token: enrollmentToken, worker_id: id, token, name } = request;
  if (enrollmentToken !== undefined && id === undefined && token === undefined) {
    const enrollment = await findEnrollment(tx, credentialDigest(enrollmentToken), now);
    if (enrollment === null) throw refused("enrollment token");
    const workerId = newUuid<"wkr">();
    const workerName = name ?? `worker-${workerId.slice(-8)}`;
    const { workerGroupId } = enrollment;
    await insertWorker(tx, {
      id: workerId,
      workerGroupId,
      name: workerName,
      protocolVersion: request.worker_protocol_version,
      createdAt: now,
    });
    return workerId;
  }
  if (id !== undefined && token !== undefined) {
    const workerId = decodeId("wkr", id);
    const digest = credentialDigest(token);
    if (workerId === null) throw refused("worker's token");
    if (enrollmentToken === undefined) {
      if (!(await isWorkerToken(tx, digest, workerId, now))) throw refused("worker's token");
      return workerId;
    }
    const enrollment = await findEnrollment(tx, credentialDigest(enrollmentToken), now);
    if (enrollment === null) throw refused("enrollment token");
    if (!(await isTokenOfGroup(tx, digest, workerId, enrollment.workerGroupId)))
      throw refused("worker's token");
    return workerId;
  }
  throw invalidRequest([
    { path: "enrollment_token", message: "send enrollment_token, or worker_id and token, or all three" },
  ]);
}
