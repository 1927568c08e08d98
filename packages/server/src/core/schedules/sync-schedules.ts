import type { DeploymentManifest, ScheduleDeclaration, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { changeDefinition, skipOverdueSlots } from "./change-definition.ts";
import { toDefinition, type SchedulePlace } from "./define-schedule.ts";
import { nextRunOf } from "./next-run.ts";
import { lockDeclaredSchedules, lockSchedulesToCheck, type ScheduleRow } from "./schedule-reads.ts";
import { insertSchedule, markScheduleRemoved, recordStandings } from "./schedule-writes.ts";
import {
  decideDefined,
  decideDeployed,
  decideFirstSlot,
  decideUndeclared,
  faultOf,
  hasSlots,
  taskNotFound,
} from "./schedule.ts";

/**
 * Puts the declared schedules in force: new ones begin now, changed ones change, those that are no longer declared stop.
 * What is declared unchanged is not touched, so a promotion moves none of its slots. Every schedule of the environment is
 * checked against the tasks that the deployment declares.
 *
 * @throws DomainError `already_exists` when a caller has made a schedule with a declared key.
 */
export async function syncSchedules(
  tx: Tx,
  newUuid: NewUuid,
  place: SchedulePlace,
  deployment: { version: string; manifest: DeploymentManifest },
  now: number,
): Promise<void> {
  const { environmentId } = place;
  const declared = deployment.manifest.schedules ?? [];
  const keys = declared.map(({ id }) => id);
  const existing = await lockDeclaredSchedules(tx, environmentId, keys);
  refuseTakenKeys(existing);
  const byKey = new Map(existing.map((schedule) => [schedule.deduplicationKey, schedule]));
  for (const declaration of declared) {
    const schedule = byKey.get(declaration.id);
    if (schedule === undefined) await insertDeclared(tx, newUuid(), place, declaration, now);
    else await changeDeclared(tx, schedule, declaration, now);
  }
  for (const schedule of existing) {
    if (keys.includes(schedule.deduplicationKey) || decideUndeclared(schedule.status) === "none") continue;
    const lastSlotAt = await skipOverdueSlots(tx, schedule, "removed", now);
    await markScheduleRemoved(tx, environmentId, schedule.id, lastSlotAt, now);
  }
  const tasks = deployment.manifest.tasks.map(({ id }) => id);
  const checked = (await lockSchedulesToCheck(tx, environmentId, tasks)).flatMap(({ id, task, status }) => {
    const fault = tasks.includes(task) ? null : taskNotFound(task, deployment.version, now);
    const standing = decideDeployed(status, fault);
    return standing === null ? [] : [{ id, ...standing }];
  });
  await recordStandings(tx, environmentId, checked);
}

function refuseTakenKeys(existing: readonly ScheduleRow[]): void {
  const taken = existing.find(({ type, status }) => type === "imperative" && status !== "removed");
  if (taken === undefined) return;
  throw new DomainError(
    "already_exists",
    `The deployment declares a schedule "${taken.deduplicationKey}", and one with that key was made through the API. Delete that one, or give the declared one another id.`,
    { deduplication_key: taken.deduplicationKey },
  );
}

async function insertDeclared(
  tx: Tx,
  id: Uuid<"sched">,
  place: SchedulePlace,
  declaration: ScheduleDeclaration,
  now: number,
): Promise<void> {
  const { active, ...definition } = toDefinition(declaration);
  const standing = decideDefined(active ?? true, null);
  const nextRunAt = hasSlots(standing.status)
    ? decideFirstSlot(now, null, nextRunOf(definition.cron, definition.timezone))
    : null;
  const row = { id, ...place, type: "declarative", deduplicationKey: declaration.id } as const;
  // Whoever makes one waits for the environment's lock, which the promotion holds.
  if (!(await insertSchedule(tx, { ...row, ...definition, ...standing, nextRunAt, now })))
    throw new Error(`A schedule "${declaration.id}" was made during the promotion.`);
}

async function changeDeclared(
  tx: Tx,
  schedule: ScheduleRow,
  declaration: ScheduleDeclaration,
  now: number,
): Promise<void> {
  const { active: given, ...rest } = toDefinition(declaration);
  const active = given ?? true;
  const definition = { ...rest, type: "declarative" } as const;
  const isSame = (Object.keys(definition) as (keyof typeof definition)[]).every(
    (field) => definition[field] === schedule[field],
  );
  const isInForce = schedule.status !== "removed" && hasSlots(schedule.status) === active;
  if (!isSame || !isInForce)
    await changeDefinition(tx, schedule, definition, decideDefined(active, faultOf(schedule)), now);
}
