import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { inputClass } from "../../ui/field.tsx";
import type { ListSearch } from "./workspace-search.ts";

/** Narrows the list; the address says how. */
export function ListFilters({
  search,
  onChange,
}: {
  search: ListSearch;
  onChange: (search: ListSearch) => void;
}): ReactNode {
  const [sandbox, setSandbox] = useState(search.sandbox ?? "");
  const [tag, setTag] = useState(search.tag ?? "");
  const apply = (): void =>
    onChange({
      ...(sandbox.trim() !== "" && { sandbox: sandbox.trim() }),
      ...(tag.trim() !== "" && { tag: tag.trim() }),
    });
  return (
    <form
      role="search"
      className="flex flex-wrap items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <div className="w-44">
        <input
          aria-label="Sandbox"
          placeholder="Sandbox"
          value={sandbox}
          onChange={({ target }) => setSandbox(target.value)}
          className={inputClass}
        />
      </div>
      <div className="w-44">
        <input
          aria-label="Tag"
          placeholder="Tag"
          value={tag}
          onChange={({ target }) => setTag(target.value)}
          className={inputClass}
        />
      </div>
      <Button type="submit">Filter</Button>
    </form>
  );
}
