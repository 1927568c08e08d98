import type { BulkAction, BulkActionPreview } from "@keelson/contract";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { createBulkAction } from "../../api/routes/runs.ts";
import { useAction } from "../../api/use-action.ts";
import { Loading } from "../../ui/async.tsx";
import { Button } from "../../ui/button.tsx";
import { countOf } from "../../ui/count-of.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import type { BulkKind, bulkFilterOf } from "./bulk-filter.ts";
import { BulkProgress } from "./bulk-progress.tsx";

/** Which runs: those of a filter, or those that were chosen. */
export type BulkSelection = { filter: NonNullable<ReturnType<typeof bulkFilterOf>> } | { run_ids: string[] };

const TEXTS = {
  cancel: {
    title: "Cancel runs",
    ofChosen:
      "Cancels the selected runs that are live, and the runs that they started. Keelson asks running code to stop and kills it after 10 seconds. You cannot undo this.",
    ofFilters:
      "Cancels all live runs that match the filters, and the runs that they started. Keelson asks running code to stop and kills it after 10 seconds. You cannot undo this.",
    none: "The filters show only runs that have ended. Choose a live status, or no status.",
    kind: "danger",
  },
  replay: {
    title: "Replay runs",
    ofChosen: "Starts the selected runs that have ended again, in the current deployment.",
    ofFilters:
      "Starts all ended runs that match the filters again, in the current deployment. Without a status filter, these are the runs that did not succeed.",
    none: "The filters show only live runs. Choose a status of ended runs, or no status.",
    kind: "primary",
  },
} as const;

/** Counts the runs, asks, and then shows how far the bulk action is. */
export function BulkDialog({
  kind,
  selection,
  onClose,
}: {
  kind: BulkKind;
  selection: BulkSelection | null;
  onClose: () => void;
}): ReactNode {
  const [started, setStarted] = useState<BulkAction | null>(null);
  const { title, ofFilters, ofChosen, none } = TEXTS[kind];
  const description = selection !== null && "run_ids" in selection ? ofChosen : ofFilters;
  return (
    <Dialog title={title} description={started === null ? description : undefined} isOpen onClose={onClose}>
      {started !== null ? (
        <BulkProgress started={started} onClose={onClose} />
      ) : selection === null ? (
        <p role="status">{none}</p>
      ) : (
        <Question kind={kind} selection={selection} onStarted={setStarted} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Question({
  kind,
  selection,
  onStarted,
  onClose,
}: {
  kind: BulkKind;
  selection: BulkSelection;
  onStarted: (action: BulkAction) => void;
  onClose: () => void;
}): ReactNode {
  const place = usePlace();
  const body = { ...place, action: kind, ...selection };
  const preview = useQuery({
    queryKey: ["e", place.environment_id, "bulk-preview", kind, selection],
    queryFn: async ({ signal }) =>
      (await send(createBulkAction, { body: { ...body, dry_run: true }, signal })) as BulkActionPreview,
    gcTime: 0,
  });
  const start = useAction(async () => (await send(createBulkAction, { body })) as BulkAction, {
    onDone: onStarted,
    isShownInPlace: true,
  });
  if (preview.error !== null)
    return <ErrorPanel error={preview.error} onRetry={() => void preview.refetch()} />;
  if (preview.data === undefined) return <Loading />;
  const { matched, more_matched } = preview.data;
  const count = `${more_matched ? "more than " : ""}${countOf(matched, "run")}`;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        start.mutate();
      }}
    >
      <p role="status">{matched === 0 ? "No runs match." : `This is about ${count}.`}</p>
      {start.error !== null && <ErrorPanel error={start.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep</Button>
        <Button type="submit" kind={TEXTS[kind].kind} isBusy={start.isPending} disabled={matched === 0}>
          {kind === "cancel" ? `Cancel ${count}` : `Replay ${count}`}
        </Button>
      </div>
    </form>
  );
}
