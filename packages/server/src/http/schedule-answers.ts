import {
  decodeId,
  encodeId,
  SCHEDULE_TYPES,
  pageQuery,
  scheduleTime,
  type NextRuns,
  type PutSchedule,
  type ReplaceSchedule,
  type ScheduleType,
} from "@keelson/contract";
import { Type } from "typebox";
import {
  deleteSchedule,
  putSchedule,
  replaceSchedule,
  setScheduleActive,
} from "../core/schedules/define-schedule.ts";
import { checkScheduleTime, nextRunsOf } from "../core/schedules/next-run.ts";
import { listOccurrences } from "../core/schedules/occurrence-reads.ts";
import { findSchedule, listSchedules } from "../core/schedules/schedule-reads.ts";
import { notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import type { Audited } from "./audit.ts";
import { decodeCursor, encodeCursor, pageLimit, TIME_KEY, toPage } from "./page.ts";
import type { EnvironmentScope, Reply } from "./route.ts";
import { toOccurrence, toSchedule } from "./wire/schedule.ts";
import { toTimestamp } from "./wire/time.ts";

/** What the schedule routes answer; /v1 reads what /api also changes. */

const LIST = "schedules";

export const ScheduleParams = Type.Object({ id: Type.String() });

export const ScheduleListQuery = Type.Object(
  {
    ...pageQuery(),
    task: Type.Optional(Type.String({ maxLength: 128 })),
    type: Type.Optional(Type.Enum([...SCHEDULE_TYPES])),
    deduplication_key: Type.Optional(Type.String({ maxLength: 256 })),
    external_id: Type.Optional(Type.String({ maxLength: 256 })),
  },
  { additionalProperties: false },
);

const NEXT_RUNS_DEFAULT = 5;
const NEXT_RUNS_MAX = 10;

export const NextRunsQuery = Type.Object(
  {
    ...scheduleTime,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: NEXT_RUNS_MAX, description: `Default ${NEXT_RUNS_DEFAULT}.` }),
    ),
  },
  { additionalProperties: false },
);

/** @throws DomainError `invalid_cron` */
export function answerNextRuns(
  server: ServerContext,
  { cron, timezone = "UTC", limit = NEXT_RUNS_DEFAULT }: { cron: string; timezone?: string; limit?: number },
): Promise<{ status: 200; body: NextRuns }> {
  checkScheduleTime(cron, timezone);
  const times = nextRunsOf(cron, timezone, server.clock(), limit);
  return Promise.resolve({ status: 200, body: { next_runs: times.map(toTimestamp) } });
}

export function scheduleIdOf({ id: text }: { id: string }): string {
  const id = decodeId("sched", text);
  if (id === null) throw notFound();
  return id;
}

export async function answerScheduleList(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  query: {
    limit?: number;
    cursor?: string;
    task?: string;
    type?: ScheduleType;
    deduplication_key?: string;
    external_id?: string;
  },
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor(LIST, environmentId, query.cursor);
  const filter = {
    task: query.task ?? null,
    type: query.type ?? null,
    deduplicationKey: query.deduplication_key ?? null,
    externalId: query.external_id ?? null,
  };
  const rows = await listSchedules(server.db, environmentId, filter, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(LIST, environmentId, row.id));
  return { status: 200, body: { schedules: page.rows.map(toSchedule), next_cursor: page.nextCursor } };
}

export async function answerScheduleItem(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  scheduleId: string,
  status = 200,
): Promise<Reply> {
  const row = await findSchedule(server.db, environmentId, scheduleId);
  if (row === null) throw notFound();
  return { status, body: toSchedule(row) };
}

/** What the audit log says of a definition: what runs, and when. */
const definitionOf = ({ task, cron, timezone, active }: ReplaceSchedule) => ({
  task,
  cron,
  ...(timezone === undefined ? {} : { timezone }),
  ...(active === undefined ? {} : { active }),
});

export async function answerSchedulePut(
  server: ServerContext,
  scope: EnvironmentScope,
  body: PutSchedule,
  audited: Audited,
): Promise<Reply> {
  const { scheduleId, created } = await audited(
    (tx) => putSchedule(tx, server, scope, body, server.clock()),
    (put) => ({
      id: encodeId("sched", put.scheduleId),
      details: { ...definitionOf(body), deduplication_key: body.deduplication_key, created: put.created },
    }),
  );
  return answerScheduleItem(server, scope, scheduleId, created ? 201 : 200);
}

export async function answerScheduleReplace(
  server: ServerContext,
  scope: EnvironmentScope,
  scheduleId: string,
  body: ReplaceSchedule,
  audited: Audited,
): Promise<Reply> {
  await audited(
    (tx) => replaceSchedule(tx, server, scope.environmentId, scheduleId, body, server.clock()),
    () => ({ id: encodeId("sched", scheduleId), details: definitionOf(body) }),
  );
  return answerScheduleItem(server, scope, scheduleId);
}

export async function answerScheduleActive(
  server: ServerContext,
  scope: EnvironmentScope,
  scheduleId: string,
  active: boolean,
  audited: Audited,
): Promise<Reply> {
  await audited(
    (tx) => setScheduleActive(tx, server, scope.environmentId, scheduleId, active, server.clock()),
    (changed) => (changed ? { id: encodeId("sched", scheduleId) } : null),
  );
  return answerScheduleItem(server, scope, scheduleId);
}

export async function answerScheduleDelete(
  { environmentId }: EnvironmentScope,
  scheduleId: string,
  audited: Audited,
): Promise<Reply> {
  await audited(
    (tx) => deleteSchedule(tx, environmentId, scheduleId),
    () => ({ id: encodeId("sched", scheduleId) }),
  );
  return { status: 204, body: undefined };
}

export async function answerOccurrences(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  scheduleId: string,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  if ((await findSchedule(server.db, environmentId, scheduleId)) === null) throw notFound();
  const list = `occurrences ${scheduleId}`;
  const limit = pageLimit(query.limit);
  const before = decodeCursor(list, environmentId, query.cursor, TIME_KEY);
  const rows = await listOccurrences(
    server.db,
    environmentId,
    scheduleId,
    before === null ? null : Number(before),
    limit + 1,
  );
  const page = toPage(rows, limit, (row) => encodeCursor(list, environmentId, String(row.scheduledAt)));
  return {
    status: 200,
    body: {
      occurrences: page.rows.map((row) => toOccurrence(scheduleId, row)),
      next_cursor: page.nextCursor,
    },
  };
}
