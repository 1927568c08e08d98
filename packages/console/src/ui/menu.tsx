import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";

const ITEM =
  "flex cursor-default items-center gap-2 rounded px-2 py-1.5 text-sm outline-none data-highlighted:bg-raised data-disabled:opacity-50";

export type MenuItem = { label: string; icon?: ReactNode; isDisabled?: boolean; onSelect: () => void };

/** A button that opens a list of things to do. */
export function Menu({
  trigger,
  items,
  isOpenAtFirst = false,
}: {
  trigger: ReactNode;
  items: readonly MenuItem[];
  isOpenAtFirst?: boolean;
}): ReactNode {
  return (
    <DropdownMenu.Root defaultOpen={isOpenAtFirst}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-50 max-h-[70vh] min-w-44 overflow-y-auto rounded-lg border border-line bg-surface p-1 shadow-lg"
        >
          {items.map(({ label, icon, isDisabled, onSelect }) => (
            <DropdownMenu.Item
              key={label}
              disabled={isDisabled ?? false}
              className={ITEM}
              onSelect={onSelect}
            >
              {icon}
              {label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
