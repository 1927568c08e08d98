import { decodeId, type Operation, type Uuid } from "@keelson/contract";
import { findOddValue } from "../../../core/executions/find-odd-value.ts";
import type { LeasedOperation } from "../../../core/leases/report-batch.ts";
import { toModelUsage } from "../../resources/runs/usage-wire.ts";

type WireLease = { environment_id: string; run_id: string; lease_id: string; epoch: number };
type Lease = { environmentId: Uuid<"env">; runId: Uuid<"run">; leaseId: Uuid<"lease">; epoch: number };

/** A lease as a worker names it; null when one of its ids is malformed, which is a lease that is not held. */
export function decodeLease(wire: WireLease): Lease | null {
  const environmentId = decodeId("env", wire.environment_id);
  const runId = decodeId("run", wire.run_id);
  const leaseId = decodeId("lease", wire.lease_id);
  return environmentId === null || runId === null || leaseId === null
    ? null
    : { environmentId, runId, leaseId, epoch: wire.epoch };
}

/** An operation under its lease; null when that cannot be held. */
export function decodeOperation(wire: Operation, mayBeOdd: boolean): LeasedOperation | null {
  const lease = decodeLease(wire);
  if (lease === null) return null;
  const oddAt = mayBeOdd ? findOddValue(wire) : null;
  const leased: LeasedOperation = { ...lease, operation: wire };
  if (wire.kind === "usage") leased.used = wire.used.map(toModelUsage);
  return oddAt === null ? leased : { ...leased, oddAt: oddAt.replaceAll("\0", "\uFFFD").toWellFormed() };
}
