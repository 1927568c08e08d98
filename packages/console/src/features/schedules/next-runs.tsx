import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { listNextRuns } from "../../api/routes/schedules.ts";
import { Table, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

const VIEWER_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const FORM = { dateStyle: "medium", timeStyle: "medium" } as const;
const REFETCH_MS = 5000;

const DUE: Column<string> = { heading: "Due", cell: (at) => <Time at={at} /> };

/** Zones that this browser does not know are the server's alone. */
function formatIn(timezone: string): (at: string) => string {
  try {
    const format = new Intl.DateTimeFormat(undefined, { ...FORM, timeZone: timezone });
    return (at) => format.format(new Date(at));
  } catch (error) {
    if (error instanceof RangeError) return (at) => at;
    throw error;
  }
}

/** When the expression comes due next, where the schedule is and where the viewer is. */
export function NextRuns({ cron, timezone }: { cron: string; timezone: string }): ReactNode {
  const { data, error } = useItem(listNextRuns, {
    query: { cron, timezone, limit: 5 },
    refetchMs: REFETCH_MS,
  });
  if (error !== null && data === undefined)
    return (
      <p role="alert" className="text-sm text-bad">
        {error.message}
      </p>
    );
  if (data === undefined) return <p className="text-quiet">…</p>;
  if (data.next_runs.length === 0) return <p className="text-quiet">This schedule has no future due time.</p>;
  const there = formatIn(timezone);
  const here = formatIn(VIEWER_ZONE);
  const columns: Column<string>[] = [DUE, { heading: `In ${timezone}`, cell: there }];
  if (timezone !== VIEWER_ZONE) columns.push({ heading: `For you (${VIEWER_ZONE})`, cell: here });
  return <Table label="Due times" columns={columns} rows={data.next_runs} rowKey={(at) => at} />;
}
