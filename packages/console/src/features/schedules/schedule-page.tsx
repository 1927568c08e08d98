import type { Schedule } from "@keelson/contract";
import { useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getSchedule } from "../../api/routes/schedules.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { ItemAsync } from "../../app/item-async.tsx";
import { RecentRuns } from "../../app/recent-runs.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Card, Facts, Page, Section } from "../../ui/page.tsx";
import { Status } from "../../ui/status.tsx";
import { Time } from "../../ui/time.tsx";
import { describeCron } from "./describe-cron.ts";
import { NextRuns } from "./next-runs.tsx";
import { ScheduleActions } from "./schedule-actions.tsx";
import { SlotLedger } from "./slot-ledger.tsx";

const REFETCH_MS = 2000;

export function SchedulePage(): ReactNode {
  const { scheduleId } = useParams({ strict: false });
  const schedule = useItem(at(getSchedule, { id: scheduleId ?? "" }), { refetchMs: REFETCH_MS });
  return <ItemAsync result={schedule}>{(shown) => <ScheduleDetails schedule={shown} />}</ItemAsync>;
}

function ScheduleDetails({ schedule }: { schedule: Schedule }): ReactNode {
  const { id, deduplication_key: key, cron, timezone, status_reason: reason, options } = schedule;
  return (
    <Page title={key} subtitle={describeCron(cron) ?? cron} actions={<ScheduleActions schedule={schedule} />}>
      {reason !== null && (
        <div role="alert" className="rounded-lg border border-line bg-bad-ground p-4">
          <p className="font-medium text-bad">It cannot start runs at present: {reason.message}</p>
        </div>
      )}
      <Card>
        <Facts rows={factsOf(schedule)} />
      </Card>
      <Section title="Next due times">
        {schedule.active ? (
          <NextRuns cron={cron} timezone={timezone} />
        ) : (
          <p className="text-quiet">Inactive schedules do not run.</p>
        )}
      </Section>
      <Section title="Past due times">
        <SlotLedger scheduleId={id} />
      </Section>
      {Object.keys(options).length > 0 && (
        <Section title="Run options">
          <JsonView label="options" value={options} />
        </Section>
      )}
      <RecentRuns
        filter={{ schedule_id: id }}
        title="Recent runs"
        allLabel="All runs of this schedule"
        emptyText="This schedule has started no runs yet."
      />
    </Page>
  );
}

const factsOf = (schedule: Schedule): [string, ReactNode][] => [
  ["Status", <Status key="status" value={schedule.status} />],
  [
    "Task",
    <EnvironmentLink key="task" to={`tasks/${schedule.task}`}>
      {schedule.task}
    </EnvironmentLink>,
  ],
  [
    "Cron",
    <code key="cron" className="font-mono text-xs">
      {schedule.cron}
    </code>,
  ],
  ["Time zone", schedule.timezone],
  ["Next", <Time key="next" at={schedule.next_run_at} />],
  ["Last", <Time key="last" at={schedule.last_run_at} />],
  [
    "Kept in",
    <Badge key="kept-in">{schedule.type === "declarative" ? "the deployed code" : "the server"}</Badge>,
  ],
  ["External id", schedule.external_id ?? "none"],
  ["Schedule id", <Id key="schedule-id" value={schedule.id} />],
];
