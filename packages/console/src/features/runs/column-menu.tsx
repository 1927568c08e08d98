import { Columns3 } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { COLUMN_NAMES, RUN_COLUMNS, type RunColumn } from "./run-columns.ts";

/** Chooses the columns of the list. */
export const ColumnMenu = ({
  columns,
  onChange,
}: {
  columns: readonly RunColumn[];
  onChange: (columns: RunColumn[]) => void;
}): ReactNode => (
  <DropdownMenu.Root>
    <DropdownMenu.Trigger asChild>
      <Button icon={<Columns3 size={14} aria-hidden />}>Columns</Button>
    </DropdownMenu.Trigger>
    <DropdownMenu.Portal>
      <DropdownMenu.Content
        align="end"
        sideOffset={4}
        className="z-50 min-w-40 rounded-lg border border-line bg-surface p-1 shadow-lg"
      >
        {RUN_COLUMNS.map((column) => (
          <DropdownMenu.CheckboxItem
            key={column}
            checked={columns.includes(column)}
            className="flex cursor-default items-center gap-2 rounded px-2 py-1.5 text-sm outline-none data-highlighted:bg-raised"
            // The menu stays open: several are chosen at a time.
            onSelect={(event) => event.preventDefault()}
            onCheckedChange={(isChosen) =>
              onChange(RUN_COLUMNS.filter((one) => (one === column ? isChosen : columns.includes(one))))
            }
          >
            <span aria-hidden className="w-3">
              {columns.includes(column) ? "✓" : ""}
            </span>
            {COLUMN_NAMES[column]}
          </DropdownMenu.CheckboxItem>
        ))}
      </DropdownMenu.Content>
    </DropdownMenu.Portal>
  </DropdownMenu.Root>
);
