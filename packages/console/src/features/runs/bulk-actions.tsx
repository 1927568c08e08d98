import { RotateCcw, Square } from "lucide-react";
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { BulkDialog } from "./bulk-dialog.tsx";
import { bulkFilterOf, type BulkKind } from "./bulk-filter.ts";
import type { RunFilters } from "./run-filters.ts";

/** Cancels or replays all runs that the filters show. */
export function BulkActions({ filters }: { filters: RunFilters }): ReactNode {
  const [opened, setOpened] = useState<{ kind: BulkKind; nowMs: number } | null>(null);
  const open = (kind: BulkKind): void => setOpened({ kind, nowMs: Date.now() });
  return (
    <>
      <Button icon={<Square size={13} aria-hidden />} onClick={() => open("cancel")}>
        Cancel runs
      </Button>
      <Button icon={<RotateCcw size={15} aria-hidden />} onClick={() => open("replay")}>
        Replay runs
      </Button>
      {opened !== null && (
        <BulkDialog
          kind={opened.kind}
          filter={bulkFilterOf(opened.kind, filters, opened.nowMs)}
          onClose={() => setOpened(null)}
        />
      )}
    </>
  );
}
