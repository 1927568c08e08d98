import type { PutSchedule, ReplaceSchedule, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { durationIssues } from "../runs/check-durations.ts";
import { changeDefinition } from "./change-definition.ts";
import { checkScheduleTime, nextRunOf } from "./next-run.ts";
import {
  lockDeploymentPointer,
  lockSchedule,
  lockScheduleOfKey,
  type ScheduleRow,
} from "./schedule-reads.ts";
import { deleteScheduleRow, insertSchedule, type Definition } from "./schedule-writes.ts";
import {
  decideActivation,
  decideDefined,
  decideFirstSlot,
  hasSlots,
  taskNotFound,
  type ScheduleFault,
} from "./schedule.ts";

/** What callers do to imperative schedules. */

export type DefineContext = { deployments: DeploymentCache; newUuid: NewUuid };
export type SchedulePlace = { environmentId: Uuid<"env">; projectId: Uuid<"proj"> };

export const DEFAULT_TIME_ZONE = "UTC";

/**
 * What a request defines, with defaults for what it leaves out; `active` is null then, as that depends on what there is.
 *
 * @throws DomainError `invalid_cron`, or `invalid_request` for a duration out of bounds.
 */
export function toDefinition(request: ReplaceSchedule): Definition & { active: boolean | null } {
  const { task, cron, timezone = DEFAULT_TIME_ZONE, active = null, options = {} } = request;
  checkScheduleTime(cron, timezone);
  const issues = durationIssues(options, "options");
  if (issues.length > 0) throw invalidRequest(issues);
  const externalId = request.external_id ?? null;
  return { externalId, task, cron, timezone, active, options: JSON.stringify(options) };
}

/**
 * Creates the imperative schedule of a key or replaces its definition.
 *
 * @throws DomainError `schedule_is_declarative` when a deployment declares that key.
 */
export async function putSchedule(
  tx: Tx,
  context: DefineContext,
  place: SchedulePlace,
  request: PutSchedule,
  now: number,
): Promise<{ scheduleId: Uuid<"sched">; created: boolean }> {
  const { environmentId, projectId } = place;
  const { active, ...definition } = toDefinition(request);
  const fault = await findFault(tx, context, environmentId, definition.task, now);
  const standing = decideDefined(active ?? true, fault);
  const id = context.newUuid<"sched">();
  const deduplicationKey = request.deduplication_key;
  const nextRunAt = hasSlots(standing.status)
    ? decideFirstSlot(now, null, nextRunOf(definition.cron, definition.timezone))
    : null;
  const row = { id, environmentId, projectId, type: "imperative", deduplicationKey } as const;
  if (await insertSchedule(tx, { ...row, ...definition, ...standing, nextRunAt, now }))
    return { scheduleId: id, created: true };
  const existing = await lockScheduleOfKey(tx, environmentId, deduplicationKey);
  if (existing === null)
    throw new DomainError("unavailable", "The schedule of that key was deleted just now; send it again.");
  const wasRemoved = existing.status === "removed";
  if (!wasRemoved) requireImperative(existing);
  const kept = decideDefined(active ?? existing.status !== "inactive", fault);
  await changeDefinition(tx, existing, { ...definition, type: "imperative" }, kept, now);
  return { scheduleId: existing.id, created: wasRemoved };
}

/** @throws DomainError `not_found`, or `schedule_is_declarative`. */
export async function replaceSchedule(
  tx: Tx,
  context: DefineContext,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
  request: ReplaceSchedule,
  now: number,
): Promise<void> {
  const { active, ...definition } = toDefinition(request);
  const fault = await findFault(tx, context, environmentId, definition.task, now);
  const schedule = await lockImperative(tx, environmentId, scheduleId);
  const standing = decideDefined(active ?? schedule.status !== "inactive", fault);
  await changeDefinition(tx, schedule, { ...definition, type: "imperative" }, standing, now);
}

/**
 * Repeating it changes nothing.
 *
 * @returns whether this call changed it
 * @throws DomainError `not_found`, or `schedule_is_declarative`.
 */
export async function setScheduleActive(
  tx: Tx,
  context: DefineContext,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
  active: boolean,
  now: number,
): Promise<boolean> {
  const pointer = await lockDeploymentPointer(tx, environmentId);
  const schedule = await lockImperative(tx, environmentId, scheduleId);
  if (decideActivation(schedule.status, active) === "none") return false;
  const fault = await faultIn(tx, context, environmentId, pointer, schedule.task, now);
  await changeDefinition(tx, schedule, schedule, decideDefined(active, fault), now);
  return true;
}

/** With its ledger. @throws DomainError `not_found`, or `schedule_is_declarative`. */
export async function deleteSchedule(
  tx: Tx,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
): Promise<void> {
  await lockImperative(tx, environmentId, scheduleId);
  await deleteScheduleRow(tx, environmentId, scheduleId);
}

async function lockImperative(
  tx: Tx,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
): Promise<ScheduleRow> {
  const schedule = await lockSchedule(tx, environmentId, scheduleId);
  if (schedule === null) throw notFound();
  requireImperative(schedule);
  return schedule;
}

function requireImperative({ type, deduplicationKey }: ScheduleRow): void {
  if (type === "imperative") return;
  throw new DomainError(
    "schedule_is_declarative",
    `The schedule "${deduplicationKey}" is declared in the deployed code. Change its declaration and deploy.`,
    { deduplication_key: deduplicationKey },
  );
}

/** Why the task could not be started now, under the lock that keeps the current deployment as it is. */
async function findFault(
  tx: Tx,
  context: DefineContext,
  environmentId: Uuid<"env">,
  task: string,
  now: number,
): Promise<ScheduleFault | null> {
  return faultIn(tx, context, environmentId, await lockDeploymentPointer(tx, environmentId), task, now);
}

async function faultIn(
  tx: Tx,
  { deployments }: DefineContext,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep"> | null,
  task: string,
  now: number,
): Promise<ScheduleFault | null> {
  const deployment =
    deploymentId === null ? null : await deployments.within(tx).byId(environmentId, deploymentId);
  return deployment?.tasks.has(task) === true ? null : taskNotFound(task, deployment?.version ?? null, now);
}
