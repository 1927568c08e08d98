import { encodeId, type Isolation, type WorkspaceLeaseRequest } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys, type Wakes } from "../feeds/wakes.ts";
import { lookForProcesses, type ProcessWork } from "../processes/look-for-processes.ts";
import { findLeaseState, type LeaseState } from "../workers/find-lease-state.ts";
import { noteIsolation } from "../workers/note-isolation.ts";
import { claimMaterializations } from "./materialization-writes.ts";
import {
  listHeldMaterializations,
  listMaterializationFacts,
  type MaterializationFacts,
  type MaterializationRow,
} from "./materialization-reads.ts";

export type WorkspaceLeaseContext = { db: Database; clock: Clock; wakes: Wakes; leaseDurationMs: number };

export type WorkspaceLeaseCall = {
  workerId: string;
  workerGroupId: string;
  limit: number;
  isolation: Isolation;
  waitMs: number;
  held: WorkspaceLeaseRequest["held"];
};

export type WorkspaceLeaseAnswer = {
  materializations: MaterializationFacts[];
  stops: MaterializationFacts[];
  /** As the worker wrote them. */
  lost: string[];
  processes: ProcessWork;
};

/** A poll looks again by itself this often, whatever it was told: the repair of a lost notification. */
const SAFETY_POLL_MS = 5_000;

const isEmpty = (answer: WorkspaceLeaseAnswer): boolean =>
  answer.materializations.length + answer.stops.length + answer.lost.length === 0 &&
  answer.processes.starts.length + answer.processes.inputs.length + answer.processes.controls.length === 0;

/**
 * Tells a worker what it lacks: materializations that it does not know of, stops, what is no longer its. Waits up to
 * `waitMs` for the first of them. Nothing is remembered of what was told: the worker says what it has.
 *
 * @throws DomainError `invalid_state` when the worker has not been activated.
 */
export async function leaseMaterializations(
  context: WorkspaceLeaseContext,
  call: WorkspaceLeaseCall,
  signal: AbortSignal,
): Promise<WorkspaceLeaseAnswer> {
  const deadline = context.clock() + call.waitMs;
  await noteIsolation(context.db, call.workerId, call.isolation);
  for (;;) {
    const remainingMs = Math.max(0, deadline - context.clock());
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    const pauseMs = Math.min(remainingMs, SAFETY_POLL_MS);
    // Registered before the look, so that what arrives during it is not missed.
    const woken = Promise.race([
      context.wakes.wait(wakeKeys.workspaceWork(call.workerGroupId), pauseMs, until),
      context.wakes.wait(wakeKeys.workerWorkspaces(call.workerId), pauseMs, until),
    ]);
    try {
      const answer = await look(context, call);
      if (!isEmpty(answer) || remainingMs === 0 || signal.aborted) return answer;
      await woken;
    } finally {
      ended.abort();
    }
  }
}

async function requireActiveWorker({ db }: WorkspaceLeaseContext, workerId: string): Promise<LeaseState> {
  const worker = await findLeaseState(db, workerId);
  if (worker === null || worker.status === "registered")
    throw new DomainError("invalid_state", "The worker is not active; call activate first.");
  return worker;
}

async function look(context: WorkspaceLeaseContext, call: WorkspaceLeaseCall): Promise<WorkspaceLeaseAnswer> {
  const { db, clock, leaseDurationMs } = context;
  const { workerId, workerGroupId, isolation } = call;
  // Beside each other: a command waits for the answer. What is said of a process is checked by the epoch when it is begun.
  const [worker, processes] = await Promise.all([
    requireActiveWorker(context, workerId),
    lookForProcesses(db, workerId, call.held),
  ]);
  const now = clock();
  const limit = worker.status === "active" ? call.limit : 0;
  const claim = { workerId, workerGroupId, isolation, limit, now, leaseExpiresAt: now + leaseDurationMs };
  // One statement, which is a transaction of its own.
  if (limit > 0) await claimMaterializations(db, claim);
  const rows = await listHeldMaterializations(db, workerId);
  const known = new Map(call.held.map((item) => [keyOf(item.materialization_id, item.epoch), item]));
  const isKnown = (row: MaterializationRow) => known.get(keyOf(encodeId("mat", row.id), row.epoch));
  const unknown = rows.filter((row) => isKnown(row) === undefined);
  const stops = rows.filter((row) => row.status === "stopping" && isKnown(row)?.stopping === false);
  const untold = [...unknown, ...stops];
  const facts = untold.length === 0 ? [] : await listMaterializationFacts(db, untold);
  const isUnknown = new Set(unknown.map(({ id }) => id));
  const held = new Set(rows.map((row) => keyOf(encodeId("mat", row.id), row.epoch)));
  return {
    materializations: facts.filter(({ id }) => isUnknown.has(id)),
    stops: facts.filter(({ id }) => !isUnknown.has(id)),
    lost: call.held
      .filter((item) => !held.has(keyOf(item.materialization_id, item.epoch)))
      .map((item) => item.materialization_id),
    processes,
  };
}

const keyOf = (id: string, epoch: number): string => `${id} ${epoch}`;
