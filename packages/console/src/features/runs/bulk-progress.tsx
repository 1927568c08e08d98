import type { BulkAction, BulkActionItem } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { at } from "../../api/route.ts";
import { cancelBulkAction, getBulkAction, listBulkActionItems } from "../../api/routes/runs.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { Button } from "../../ui/button.tsx";
import { countOf } from "../../ui/count-of.ts";

const REFETCH_MS = 1_000;
/** Of the items, as many as one looks at here; the command line shows all. */
const SHOWN_ITEMS = 50;

/** How far a bulk action is, and what it did with its runs. */
export function BulkProgress({ started, onClose }: { started: BulkAction; onClose: () => void }): ReactNode {
  const isRunning = (action: BulkAction): boolean => action.status === "running";
  const read = useItem(at(getBulkAction, { id: started.id }), { refetchMs: REFETCH_MS });
  const action = read.data ?? started;
  const items = useItem(at(listBulkActionItems, { id: started.id }), {
    query: { limit: SHOWN_ITEMS },
    enabled: !isRunning(action),
  });
  const stop = useAction((place) => send(at(cancelBulkAction, { id: started.id }), { body: place }), {
    done: "Stopped",
  });
  const { done, skipped, failed, matched } = action;
  const verb = action.action === "cancel" ? "cancelled" : "replayed";
  return (
    <div className="flex flex-col gap-4">
      <progress
        aria-label="Progress"
        className="w-full accent-(--color-accent)"
        value={done + skipped + failed}
        max={matched}
      />
      <p role="status">
        {isRunning(action) ? "Running" : action.status === "completed" ? "Completed" : "Stopped"}:{" "}
        {`${countOf(done, "run")} ${verb}, ${skipped} skipped, ${failed} failed.`}
      </p>
      {items.data !== undefined && items.data.items.length > 0 && <Items items={items.data.items} />}
      <p className="text-quiet">
        The server continues when you close this. See all items with{" "}
        <code>keelson run bulk get {started.id} --items</code>
      </p>
      <div className="flex justify-end gap-2">
        {isRunning(action) && (
          <Button isBusy={stop.isPending} onClick={() => stop.mutate()}>
            Stop
          </Button>
        )}
        <Button onClick={onClose}>Done</Button>
      </div>
    </div>
  );
}

function Items({ items }: { items: readonly BulkActionItem[] }): ReactNode {
  const { environment_id } = usePlace();
  const link = (runId: string): ReactNode => (
    <Link
      className="break-all underline"
      to="/e/$environmentId/runs/$runId"
      params={{ environmentId: environment_id, runId }}
    >
      {runId}
    </Link>
  );
  return (
    <ul
      aria-label="Items"
      tabIndex={0}
      className="max-h-60 overflow-y-auto rounded-md border border-line p-2"
    >
      {items.map(({ run_id, outcome, new_run_id, error }) => (
        <li key={run_id} className="py-1">
          {link(run_id)} {outcome.replace("_", " ")}
          {new_run_id !== null && <> as {link(new_run_id)}</>}
          {error !== null && <>: {error.message}</>}
        </li>
      ))}
    </ul>
  );
}
