import { ArrowDown, ArrowUp, Download, TriangleAlert } from "lucide-react";
import { useState, type ReactNode } from "react";
import { usePlace } from "../../api/place.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { CheckField, inputClass } from "../../ui/field.tsx";
import { showToast } from "../../ui/toast-store.ts";
import { downloadLog } from "./download-log.ts";
import type { RunLog } from "./log-chunks.ts";
import type { LogSearch } from "./log-search.ts";
import type { RunSearch } from "./run-search.ts";

type ToolbarProps = {
  runId: string;
  log: RunLog;
  found: LogSearch | null;
  currentLine: number | null;
  search: RunSearch;
  onChange: (search: RunSearch) => void;
  onMatch: (step: 1 | -1) => void;
  onError: () => void;
  isWrapped: boolean;
  onWrapped: (isWrapped: boolean) => void;
  hasTimes: boolean;
  onTimes: (hasTimes: boolean) => void;
};

export function LogToolbar(props: ToolbarProps): ReactNode {
  const { runId, log, search, onChange, onError, isWrapped, onWrapped, hasTimes, onTimes } = props;
  const place = usePlace();
  const [isSaving, setIsSaving] = useState(false);
  const save = async (): Promise<void> => {
    setIsSaving(true);
    try {
      await downloadLog(runId, place, { until: log.cursor, stream: search.stream ?? null });
    } catch (error) {
      showToast({ error });
    }
    setIsSaving(false);
  };
  const lines = log.lines.end - log.lines.first;
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2">
      <FindField {...props} />
      <select
        aria-label="Stream"
        className={inputClass}
        style={{ width: "auto" }}
        value={search.stream ?? ""}
        onChange={({ target }) => {
          const { stream: _, ...others } = search;
          onChange(target.value === "" ? others : { ...others, stream: target.value as "stdout" | "stderr" });
        }}
      >
        <option value="">stdout and stderr</option>
        <option value="stdout">stdout</option>
        <option value="stderr">stderr</option>
      </select>
      <CheckField label="Wrap" checked={isWrapped} onChange={({ target }) => onWrapped(target.checked)} />
      <CheckField label="Times" checked={hasTimes} onChange={({ target }) => onTimes(target.checked)} />
      <Button icon={<TriangleAlert size={14} aria-hidden />} onClick={onError}>
        Next error
      </Button>
      <Button icon={<Download size={14} aria-hidden />} isBusy={isSaving} onClick={() => void save()}>
        Download
      </Button>
      <span className="text-xs text-quiet tabular-nums">
        {lines.toLocaleString()} {lines === 1 ? "line" : "lines"}
        {log.lines.first > 0 && ", the newest; the download has all"}
        {log.skipped > 0 && ", the oldest are no longer kept"}
      </span>
    </div>
  );
}

function FindField({ found, currentLine, search, onChange, onMatch }: ToolbarProps): ReactNode {
  const number =
    found !== null && currentLine !== null && found.count > 0 ? numberOf(found, currentLine) : null;
  return (
    <div role="search" className="flex items-center gap-1">
      <input
        type="search"
        aria-label="Find in the log"
        placeholder="Find"
        className={inputClass}
        style={{ width: "11rem" }}
        value={search.find ?? ""}
        onChange={({ target }) => {
          const { find: _, ...others } = search;
          onChange(target.value === "" ? others : { ...others, find: target.value });
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          onMatch(event.shiftKey ? -1 : 1);
        }}
      />
      {found !== null && (
        <span role="status" className="min-w-[8ch] text-xs text-quiet tabular-nums">
          {number === null ? "" : `${number.toLocaleString()} of `}
          {found.count.toLocaleString()}
          {found.isDone ? (found.count === 1 ? " line" : " lines") : " …"}
        </span>
      )}
      <IconButton label="Previous match" disabled={(found?.count ?? 0) === 0} onClick={() => onMatch(-1)}>
        <ArrowUp size={15} aria-hidden />
      </IconButton>
      <IconButton label="Next match" disabled={(found?.count ?? 0) === 0} onClick={() => onMatch(1)}>
        <ArrowDown size={15} aria-hidden />
      </IconButton>
    </div>
  );
}

/** Which of the matches the line is; null: none. */
function numberOf(found: LogSearch, line: number): number | null {
  const match = found.next(line, 1);
  return match !== null && found.lineOf(match) === line ? match + 1 : null;
}
