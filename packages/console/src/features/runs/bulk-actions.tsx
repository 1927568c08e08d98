import { RotateCcw, Square } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { BulkDialog, type BulkSelection } from "./bulk-dialog.tsx";
import { bulkFilterOf, type BulkKind } from "./bulk-filter.ts";
import type { RunFilters } from "./run-filters.ts";

const selectionOf = (kind: BulkKind, filters: RunFilters, nowMs: number): BulkSelection | null => {
  const filter = bulkFilterOf(kind, filters, nowMs);
  return filter === null ? null : { filter };
};

/** Cancels or replays all runs that the filters show, or those that are chosen. */
export function BulkActions({
  filters,
  chosen,
}: {
  filters: RunFilters;
  chosen: ReadonlySet<string>;
}): ReactNode {
  const [opened, setOpened] = useState<{ kind: BulkKind; nowMs: number } | null>(null);
  const open = (kind: BulkKind): void => setOpened({ kind, nowMs: Date.now() });
  return (
    <>
      <Button icon={<Square size={13} aria-hidden />} onClick={() => open("cancel")}>
        {chosen.size === 0 ? "Cancel runs" : `Cancel ${chosen.size} selected`}
      </Button>
      <Button icon={<RotateCcw size={15} aria-hidden />} onClick={() => open("replay")}>
        {chosen.size === 0 ? "Replay runs" : `Replay ${chosen.size} selected`}
      </Button>
      {opened !== null && (
        <BulkDialog
          kind={opened.kind}
          selection={
            chosen.size > 0 ? { run_ids: [...chosen] } : selectionOf(opened.kind, filters, opened.nowMs)
          }
          onClose={() => setOpened(null)}
        />
      )}
    </>
  );
}
