import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { getAll } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { listActors } from "../../api/routes/actors.ts";
import { listTasks } from "../../api/routes/tasks.ts";
import { IconButton } from "../../ui/button.tsx";
import { inputClass } from "../../ui/field.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { HIDDEN_RUNS, RANGES, type Range, type RunFilters } from "./run-filters.ts";
import { RunSearchBox } from "./run-search-box.tsx";

type BarProps = { filters: RunFilters; onChange: (filters: RunFilters) => void };

const RANGE_NAMES: Record<Range, string> = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
};

const without = (filters: RunFilters, ...names: (keyof RunFilters)[]): RunFilters =>
  Object.fromEntries(Object.entries(filters).filter(([name]) => !names.includes(name as keyof RunFilters)));

/** Every filter but the status. What only links set is shown too, to be taken away. */
export function RunFilterBar({ filters, onChange }: BarProps): ReactNode {
  const chips: (readonly [label: string, value: string, next: RunFilters])[] = [];
  for (const tag of filters.tag ?? []) {
    const tags = filters.tag?.filter((one) => one !== tag) ?? [];
    chips.push([
      "tag",
      tag,
      tags.length === 0 ? without(filters, "tag") : { ...without(filters, "tag"), tag: tags },
    ]);
  }
  for (const name of ["session_id", "schedule_id", "parent_run_id", "error_group_id"] as const)
    if (filters[name] !== undefined)
      chips.push([name.replace("_id", "").replace("_", " "), filters[name], without(filters, name)]);
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-2">
      <RunSearchBox
        key={filters.search ?? ""}
        value={filters.search ?? ""}
        onChange={(search) => onChange({ ...without(filters, "search"), ...(search !== "" && { search }) })}
        onFilter={(name, id) => onChange({ ...filters, [name]: id })}
      />
      <EntrypointFilter filters={filters} onChange={onChange} />
      <TimeFilter filters={filters} onChange={onChange} />
      <HiddenFilter filters={filters} onChange={onChange} />
      {chips.map(([label, value, next]) => (
        <span
          key={`${label} ${value}`}
          className="inline-flex max-w-full items-center gap-1 rounded-md bg-raised py-0.5 pl-2 text-xs"
        >
          <span className="text-quiet">{label}</span>
          <bdi className="truncate font-mono">{visibleText(value)}</bdi>
          <IconButton label={`Remove the filter ${label} ${value}`} onClick={() => onChange(next)}>
            <X size={13} aria-hidden />
          </IconButton>
        </span>
      ))}
    </div>
  );
}

const HIDDEN_NAMES = { children: "Hide child runs", scheduled: "Hide scheduled runs" } as const;

function HiddenFilter({ filters, onChange }: BarProps): ReactNode {
  const { hide = [], ...others } = filters;
  return HIDDEN_RUNS.map((one) => (
    <label key={one} className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <input
        type="checkbox"
        checked={hide.includes(one)}
        onChange={({ target }) => {
          const next = HIDDEN_RUNS.filter((kind) => (kind === one ? target.checked : hide.includes(kind)));
          onChange(next.length === 0 ? others : { ...others, hide: next });
        }}
      />
      {HIDDEN_NAMES[one]}
    </label>
  ));
}

function EntrypointFilter({ filters, onChange }: BarProps): ReactNode {
  const place = usePlace();
  const { data } = useQuery({
    queryKey: ["e", place.environment_id, "entrypoint names"],
    queryFn: async () => {
      const [tasks, actors] = await Promise.all([getAll(listTasks, place), getAll(listActors, place)]);
      return {
        task: tasks.map(({ declared_id }) => declared_id),
        actor: actors.map(({ declared_id }) => declared_id),
      };
    },
    staleTime: 30_000,
  });
  const groups = [
    ["task", "Tasks", filters.task],
    ["actor", "Actors", filters.actor],
  ] as const;
  const value =
    filters.task !== undefined
      ? `task ${filters.task}`
      : filters.actor !== undefined
        ? `actor ${filters.actor}`
        : "";
  return (
    <select
      aria-label="Task or actor"
      className={inputClass}
      style={{ width: "auto", maxWidth: "16rem" }}
      value={value}
      onChange={({ target }) => {
        const [kind, name] = target.value.split(" ");
        const others = without(filters, "task", "actor");
        onChange(
          name === undefined || name === "" ? others : { ...others, [kind as "task" | "actor"]: name },
        );
      }}
    >
      <option value="">All tasks and actors</option>
      {groups.map(([kind, label, chosen]) => {
        const names = [...new Set([...(chosen === undefined ? [] : [chosen]), ...(data?.[kind] ?? [])])];
        return (
          names.length > 0 && (
            <optgroup key={kind} label={label}>
              {names.map((name) => (
                <option key={name} value={`${kind} ${name}`}>
                  {name}
                </option>
              ))}
            </optgroup>
          )
        );
      })}
    </select>
  );
}

/** The local form of a time, as its input takes it. */
const toLocal = (at: string | undefined): string => {
  if (at === undefined) return "";
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
};

function TimeFilter({ filters, onChange }: BarProps): ReactNode {
  const hasOwn = filters.created_after !== undefined || filters.created_before !== undefined;
  const [isOwn, setIsOwn] = useState(hasOwn);
  const others = without(filters, "last", "created_after", "created_before");
  const timeInput = (name: "created_after" | "created_before", label: string): ReactNode => (
    <input
      type="datetime-local"
      step={1}
      aria-label={label}
      className={inputClass}
      style={{ width: "auto" }}
      value={toLocal(filters[name])}
      onChange={({ target }) => {
        const rest = without(filters, "last", name);
        onChange(target.value === "" ? rest : { ...rest, [name]: new Date(target.value).toISOString() });
      }}
    />
  );
  return (
    <>
      <select
        aria-label="Created"
        className={inputClass}
        style={{ width: "auto" }}
        value={isOwn || hasOwn ? "own" : (filters.last ?? "")}
        onChange={({ target }) => {
          setIsOwn(target.value === "own");
          if (target.value !== "own")
            onChange(target.value === "" ? others : { ...others, last: target.value as Range });
        }}
      >
        <option value="">Any time</option>
        {(Object.keys(RANGES) as Range[]).map((range) => (
          <option key={range} value={range}>
            {RANGE_NAMES[range]}
          </option>
        ))}
        <option value="own">Between …</option>
      </select>
      {(isOwn || hasOwn) && (
        <>
          {timeInput("created_after", "Created after")}
          {timeInput("created_before", "Created before")}
        </>
      )}
    </>
  );
}
