import { setTimeout as sleep } from "node:timers/promises";
import { decodeId, encodeId, type Isolation, type Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { WAIT_OVER, type Wakes } from "../feeds/wakes.ts";
import type { HeldPlace, HeldWork } from "../processes/held-work.ts";
import { joinGiven } from "../processes/given-inputs.ts";
import {
  lookForProcesses,
  type LiveProcess,
  type ProcessLookContext,
  type ProcessWork,
} from "../processes/look-for-processes.ts";
import { listWaitingFor } from "../processes/process-reads.ts";
import { silentAfterMs } from "../workers/silence-reads.ts";
import { findWorkerStatus, findWorkspaceState, type LeaseState } from "../workers/lease-state-reads.ts";
import type { Given, LivePlace, WorkspacePoll, WorkspacePolls } from "../processes/workspace-polls.ts";
import { noteIsolation } from "../workers/note-isolation.ts";
import { adoptUncommitted, claimMaterializations } from "./materialization-writes.ts";
import {
  listDiscarded,
  listHeldMaterializations,
  listMaterializationFacts,
  type MaterializationFacts,
  type MaterializationRow,
} from "./materialization-reads.ts";
import { takeBackLost } from "./take-back-lost.ts";

export type WorkspaceLeaseContext = {
  db: Database;
  clock: Clock;
  wakes: Wakes;
  workspacePolls: WorkspacePolls;
  liveProcesses: ProcessLookContext["liveProcesses"];
  leaseDurationMs: number;
};

export type WorkspaceLeaseCall = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  /** Milliseconds. */
  calledAt: number;
  limit: number;
  isolation: Isolation;
  waitMs: number;
  held: readonly HeldWork[];
  quarantined: readonly HeldPlace[];
  /** It begins what it is given without asking. */
  beginsGiven: boolean;
};

export type WorkspaceLeaseAnswer = {
  materializations: MaterializationFacts[];
  stops: MaterializationFacts[];
  /** As the worker wrote them. */
  lost: string[];
  /** As the worker wrote them. */
  discarded: string[];
  processes: ProcessWork;
};

type Look = WorkspaceLeaseAnswer & {
  /** What the worker has live, and knows that it has. */
  live: LivePlace[];
};

/** A poll looks again by itself this often, whatever it was told: the repair of a lost notification. */
const SAFETY_POLL_MS = 5_000;

/** After it a worker has begun what it was given, and its first bytes are on their way. */
const LOOK_LATER_MS = 15;

const NOTHING: WorkspaceLeaseAnswer = {
  ...{ materializations: [], stops: [], lost: [], discarded: [] },
  processes: { starts: [], inputs: [], controls: [] },
};

const isEmpty = (answer: WorkspaceLeaseAnswer): boolean =>
  answer.materializations.length + answer.stops.length + answer.lost.length + answer.discarded.length === 0 &&
  answer.processes.starts.length + answer.processes.inputs.length + answer.processes.controls.length === 0;

/**
 * Tells a worker what it lacks: materializations that it does not know of, stops, what is no longer its. Waits up to
 * `waitMs` for the first of them. Nothing is remembered of what was told: the worker says what it has. A process that is
 * created on this server meanwhile, and input that is sent to one, is told as it was stored, and what else there may be
 * with the next poll.
 *
 * @throws DomainError `invalid_state` when the worker has not been activated.
 */
export async function leaseMaterializations(
  context: WorkspaceLeaseContext,
  call: WorkspaceLeaseCall,
  signal: AbortSignal,
): Promise<WorkspaceLeaseAnswer> {
  const held = call.held.map((item) => keyOf(item.materializationId, item.epoch));
  const poll = context.workspacePolls.open(call.workerId, held.sort().join());
  let isGivenAlone = false;
  try {
    if (poll.isFollowUp) {
      const given = withGiven(NOTHING, await giveFirst(poll, signal), call);
      isGivenAlone = !isEmpty(given);
      if (isGivenAlone) return given;
    }
    const { isFound, answer } = await pollUntil(poll, context, call, signal);
    isGivenAlone = !isFound && !isEmpty(answer);
    return answer;
  } finally {
    poll.close(isGivenAlone);
  }
}

/**
 * The worker has just begun what it was given last, somebody waits for the first byte of that, and a look at the database
 * would be in its way.
 */
async function giveFirst(poll: WorkspacePoll, signal: AbortSignal): Promise<Given> {
  await Promise.race([poll.given(), sleep(LOOK_LATER_MS, undefined, { signal }).catch(() => undefined)]);
  return poll.take();
}

async function pollUntil(
  poll: WorkspacePoll,
  context: WorkspaceLeaseContext,
  call: WorkspaceLeaseCall,
  signal: AbortSignal,
): Promise<{ isFound: boolean; answer: WorkspaceLeaseAnswer }> {
  const begun = performance.now();
  let isTold = false;
  for (let isFirst = true; ; isFirst = false) {
    const remainingMs = Math.max(0, call.waitMs - (performance.now() - begun));
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    const pauseMs = Math.min(remainingMs, SAFETY_POLL_MS);
    // Registered before the look, so that what arrives during it is not missed.
    const woken = Promise.race([
      context.wakes.wait(wakeKeys.workspaceWork(call.workerGroupId), pauseMs, until),
      context.wakes.wait(wakeKeys.workerWorkspaces(call.workerId), pauseMs, until),
    ]);
    try {
      const [{ live, ...found }] = await Promise.all([
        look(context, call, isTold),
        isFirst ? noteIsolation(context.db, call.workerId, call.isolation) : undefined,
      ]);
      const answer = withGiven(found, poll.take(), call);
      if (call.beginsGiven) poll.beginsIn(live);
      if (!isEmpty(answer) || remainingMs === 0 || signal.aborted) return { isFound: true, answer };
      isTold = (await Promise.race([woken, poll.given()])) === true;
      const given = withGiven(answer, poll.take(), call);
      if (!isEmpty(given)) return { isFound: false, answer: given };
    } finally {
      ended.abort(WAIT_OVER);
    }
  }
}

function requireActive(status: LeaseState["status"] | null): void {
  if (status === null || status === "registered")
    throw new DomainError("invalid_state", "The worker is not active; call activate first.");
}

/** A worker that has nothing and was told of nothing lacks nothing, most often: one statement says so. */
async function look(
  context: WorkspaceLeaseContext,
  call: WorkspaceLeaseCall,
  isTold: boolean,
): Promise<Look> {
  if (isTold || call.held.length + call.quarantined.length > 0) return lookForAll(context, call);
  const worker = await findWorkspaceState(context.db, call.workerId);
  requireActive(worker?.status ?? null);
  return worker?.someAreThere === true ? lookForAll(context, call) : { ...NOTHING, live: [] };
}

/** Statements go beside each other where none needs what another gives: somebody waits for the answer. */
async function lookForAll(context: WorkspaceLeaseContext, call: WorkspaceLeaseCall): Promise<Look> {
  const { db, clock, leaseDurationMs } = context;
  const { workerId, workerGroupId, isolation, limit, calledAt } = call;
  const now = clock();
  const claim = {
    ...{ workerId, workerGroupId, isolation, limit, now, calledAt },
    leaseExpiresAt: now + leaseDurationMs,
    heardAfter: now - silentAfterMs(leaseDurationMs),
  };
  const quarantined = decodeAll(call.quarantined);
  if (quarantined.length > 0) {
    requireActive(await findWorkerStatus(db, workerId));
    await adoptUncommitted(db, { workerId, workerGroupId }, quarantined, now);
    await takeBackLost(context, { workerId, workerGroupId }, quarantined, claim);
  }
  const [status, processes, claimed, rows] = await Promise.all([
    findWorkerStatus(db, workerId),
    // What is said of a process is checked by the epoch when it is begun.
    lookForProcesses(context, workerId, call.held),
    // One statement, which is a transaction of its own.
    limit > 0 ? claimMaterializations(db, claim) : [],
    listHeldMaterializations(db, workerId),
  ]);
  requireActive(status);
  const known = new Map(call.held.map((item) => [keyOf(item.materializationId, item.epoch), item]));
  const isKnown = (row: MaterializationRow) => known.get(keyOf(encodeId("mat", row.id), row.epoch));
  const stops = rows.filter((row) => row.status === "stopping" && isKnown(row)?.stopping === false);
  // Those that were claimed beside it, the list may have or not.
  const given = new Map(
    [...rows.filter((row) => isKnown(row) === undefined), ...claimed].map((row) => [row.id, row]),
  );
  const held = new Set(rows.map((row) => keyOf(encodeId("mat", row.id), row.epoch)));
  const lost = call.held.filter((item) => !held.has(keyOf(item.materializationId, item.epoch)));
  const gone = [...decodeAll(lost), ...quarantined];
  const [facts, waiting] = await Promise.all([
    given.size + stops.length === 0 ? [] : listMaterializationFacts(db, [...given.values(), ...stops]),
    given.size === 0 ? [] : listWaitingFor(db, [...given.values()]),
  ]);
  // Last: what was discarded meanwhile is then either still in the list, or named here. A worker asks about it only once.
  const unwanted = gone.length === 0 ? [] : await listDiscarded(db, workerGroupId, gone);
  const discarded = new Set(unwanted.map(({ id }) => encodeId("mat", id)));
  const materializations = facts.filter(({ id }) => given.has(id));
  const inAnswer = new Set(materializations.map(({ id }) => id));
  return {
    live: rows.filter((row) => row.status === "live" && isKnown(row)?.stopping === false),
    materializations,
    stops: facts.filter(({ id }) => !given.has(id)),
    lost: lost.map((item) => item.materializationId).filter((id) => !discarded.has(id)),
    discarded: [...discarded],
    processes: addStarts(
      processes,
      waiting.filter(({ liveIn }) => inAnswer.has(liveIn)),
    ),
  };
}

/** What a look found, with what was given meanwhile, which the look may have found as well. */
function withGiven(
  answer: WorkspaceLeaseAnswer,
  { starts, inputs }: Given,
  { held }: WorkspaceLeaseCall,
): WorkspaceLeaseAnswer {
  const work = addStarts(answer.processes, starts);
  return {
    ...answer,
    processes: { ...work, inputs: joinGiven(work.inputs, inputs, held) },
  };
}

/** What was found beside it may be named by both. */
function addStarts(work: ProcessWork, starts: readonly LiveProcess[]): ProcessWork {
  const ids = new Set(work.starts.map(({ id }) => id));
  return { ...work, starts: [...work.starts, ...starts.filter(({ id }) => !ids.has(id))] };
}

/** Those of which there can be one. */
function decodeAll(
  items: readonly HeldPlace[],
): { environmentId: Uuid<"env">; id: Uuid<"mat">; epoch: number }[] {
  return items.flatMap(({ epoch, ...item }) => {
    const environmentId = decodeId("env", item.environmentId);
    const id = decodeId("mat", item.materializationId);
    return environmentId === null || id === null ? [] : [{ environmentId, id, epoch }];
  });
}

const keyOf = (id: string, epoch: number): string => `${id} ${epoch}`;
