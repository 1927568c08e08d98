import type { ScheduleOccurrence } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import { useList } from "../../api/use-list.ts";
import { at } from "../../api/route.ts";
import { listScheduleOccurrences } from "../../api/routes/schedules.ts";
import { pageAddress } from "../../app/navigation.ts";
import { Loading } from "../../ui/async.tsx";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { absoluteTime } from "../../ui/time.tsx";

const REFETCH_MS = 2000;

const describeSlot = ({ scheduled_at, status, reason }: ScheduleOccurrence): string =>
  `${absoluteTime(scheduled_at)}: ${status}${reason === null ? "" : `, ${reason.message}`}`;

const MARK = "block h-6 w-3 rounded-sm";

/** Every due time as a mark, the newest at the right: one that started a run leads to it, one that did not says why. */
export function SlotLedger({ scheduleId }: { scheduleId: string }): ReactNode {
  const list = useList(at(listScheduleOccurrences, { id: scheduleId }), {
    refetchMs: REFETCH_MS,
    limit: 60,
  });
  const [chosen, setChosen] = useState<string | null>(null);
  if (list.error !== null) return <ErrorPanel error={list.error} onRetry={list.refetch} />;
  if (list.isPending) return <Loading />;
  const [newest] = list.rows;
  if (newest === undefined) return <p className="text-quiet">No due time has passed yet.</p>;
  const shown = list.rows.find(({ scheduled_at: at }) => at === chosen) ?? newest;
  return (
    <div className="flex flex-col gap-2">
      <ol className="flex flex-wrap gap-1">
        {list.rows.toReversed().map((slot) => (
          <li key={slot.scheduled_at}>
            <Slot slot={slot} onChoose={() => setChosen(slot.scheduled_at)} />
          </li>
        ))}
      </ol>
      <p className="min-h-10 text-sm">{describeSlot(shown)}</p>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs text-quiet">
        <span className="inline-flex items-center gap-1.5">
          <span aria-hidden className="size-3 rounded-sm bg-good" /> fired: a run was started
        </span>
        <span className="inline-flex items-center gap-1.5">
          <span aria-hidden className="size-3 rounded-sm border-2 border-warn" /> skipped
        </span>
        {list.hasMore && (
          <Button onClick={list.loadMore} isBusy={list.isLoadingMore}>
            Show earlier due times
          </Button>
        )}
      </div>
    </div>
  );
}

/** Links and buttons alike are pointed at and focused; either tells which one is meant. */
function Slot({ slot, onChoose }: { slot: ScheduleOccurrence; onChoose: () => void }): ReactNode {
  const said = <span className="sr-only">{describeSlot(slot)}</span>;
  const { environment_id: environmentId } = usePlace();
  const events = { onPointerEnter: onChoose, onFocus: onChoose };
  if (slot.run_id !== null)
    return (
      <Link
        to={pageAddress(`/e/${environmentId}`, `runs/${slot.run_id}`)}
        className={`${MARK} bg-good`}
        {...events}
      >
        {said}
      </Link>
    );
  return (
    <button
      type="button"
      onClick={onChoose}
      {...events}
      className={`${MARK} ${slot.status === "fired" ? "bg-good" : "border-2 border-warn"}`}
    >
      {said}
    </button>
  );
}
