import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

export type Tab = { id: string; label: string; content: ReactNode };

/** Parts of a page, one shown at a time. Which one belongs into the address: the caller keeps it. */
export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  label: string;
  tabs: readonly Tab[];
  value: string;
  onChange: (id: string) => void;
}): ReactNode {
  return (
    <Radix.Root value={value} onValueChange={onChange} className="flex min-h-0 flex-1 flex-col gap-3">
      <Radix.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map(({ id, label: text }) => (
          <Radix.Trigger
            key={id}
            value={id}
            className="-mb-px border-b-2 border-transparent px-3 py-2 outline-offset-[-2px] whitespace-nowrap text-quiet hover:text-text data-[state=active]:border-accent data-[state=active]:text-text"
          >
            {text}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ id, content }) => (
        <Radix.Content key={id} value={id} className="min-h-0 flex-1 focus-visible:outline-offset-[-2px]">
          {content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
