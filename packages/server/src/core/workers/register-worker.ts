import { metRequirements, type RegisterWorker, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest, notFound } from "../../domain-error.ts";
import { changeWorker } from "./change-worker.ts";
import { checkProtocol } from "./check-protocol.ts";
import type { Watch } from "./silence-reads.ts";
import { decideRegister } from "./worker.ts";
import { lockWorkerAfterClaims, type WorkerRow } from "./worker-reads.ts";
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
  workerId: Uuid<"wkr">,
  request: RegisterWorker,
  watch: Watch,
): Promise<WorkerRow> {
  checkProtocol(request.worker_protocol_version);
  const labels = request.labels ?? {};
  checkLabels(labels);
  if ((await lockWorkerAfterClaims(tx, workerId)) === null) throw notFound();
  const registration = {
    name: request.name ?? null,
    capacity: request.capacity,
    labels: JSON.stringify(labels),
    version: request.version ?? null,
    ...describeMachine(request),
    isolation: request.isolation ?? null,
    isolationProblem: request.isolation === "process" ? (request.isolation_problem ?? null) : null,
    taskIsolation: request.task_isolation ?? null,
    taskIsolationProblem:
      request.task_isolation === "process" ? (request.task_isolation_problem ?? null) : null,
    protocolVersion: request.worker_protocol_version,
  };
  await updateRegistration(tx, workerId, registration, watch.now);
  return changeWorker(tx, workerId, decideRegister, watch);
}

/** A worker that says only one of them says nothing that a deployment could be compared with. */
function describeMachine({ node_version: nodeVersion, platform }: RegisterWorker) {
  if (nodeVersion === undefined || platform === undefined)
    return { nodeVersion: nodeVersion ?? null, platform: null, meets: [] };
  return {
    nodeVersion,
    platform: JSON.stringify(platform),
    meets: metRequirements(platform, nodeVersion),
  };
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
