import type { Stream } from "@keelson/contract";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { FilterSelect } from "../../ui/filter-field.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import type { SessionSearch } from "./session-routes.ts";

export type ChangeSearch = (changes: {
  [Name in keyof SessionSearch]: SessionSearch[Name] | undefined;
}) => void;

/** How many records there are, and which of them are shown. */
export function FilterBar({
  records,
  streams,
  search: { correlation, stream },
  onChange,
}: {
  records: number;
  streams: readonly Stream[];
  search: SessionSearch;
  onChange: ChangeSearch;
}): ReactNode {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line bg-surface px-3 py-2 text-xs text-quiet">
      <span>
        {records.toLocaleString()} {records === 1 ? "record" : "records"}
      </span>
      <FilterSelect
        label="Stream"
        all="All streams"
        value={stream}
        words={streams.map(({ name }) => name).toSorted()}
        onChange={(name) => onChange({ stream: name })}
      />
      {correlation !== undefined && (
        <Badge tone="accent">
          <bdi className="max-w-48 truncate">{visibleText(correlation)}</bdi>
        </Badge>
      )}
      {(correlation !== undefined || stream !== undefined) && (
        <Button
          kind="bare"
          icon={<X size={13} aria-hidden />}
          onClick={() => onChange({ correlation: undefined, stream: undefined })}
        >
          Show all
        </Button>
      )}
    </div>
  );
}
