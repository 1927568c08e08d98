import type { RegisterWorker } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest, notFound } from "../../domain-error.ts";
import { changeWorker } from "./change-worker.ts";
import { checkProtocol } from "./check-protocol.ts";
import { decideRegister } from "./worker.ts";
import { lockWorker, type WorkerRow } from "./worker-reads.ts";
import { updateRegistration } from "./worker-writes.ts";

const MAX_LABELS = 64;
const MAX_LABEL_CHARACTERS = 128;

/**
 * A worker process says what it is and what it can hold. It gets no work before it activates.
 *
 * @throws DomainError `unsupported_worker_protocol`, `invalid_request` for too many labels.
 */
export async function registerWorker(
  tx: Tx,
  workerId: string,
  request: RegisterWorker,
  now: number,
): Promise<WorkerRow> {
  checkProtocol(request.worker_protocol_version);
  const labels = request.labels ?? {};
  checkLabels(labels);
  if ((await lockWorker(tx, workerId)) === null) throw notFound();
  const registration = {
    name: request.name ?? null,
    capacity: request.capacity,
    labels: JSON.stringify(labels),
    version: request.version ?? null,
    protocolVersion: request.worker_protocol_version,
  };
  await updateRegistration(tx, workerId, registration, now);
  return changeWorker(tx, workerId, { decide: decideRegister, inUse: null }, now);
}

function checkLabels(labels: Record<string, string>): void {
  const names = Object.keys(labels);
  if (
    names.length > MAX_LABELS ||
    names.some((name) => name.length === 0 || name.length > MAX_LABEL_CHARACTERS)
  ) {
    throw invalidRequest([
      {
        path: "labels",
        message: `use at most ${MAX_LABELS} labels with names of 1 to ${MAX_LABEL_CHARACTERS} characters`,
      },
    ]);
  }
}
