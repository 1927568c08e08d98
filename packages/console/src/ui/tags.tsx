import type { ReactNode } from "react";
import { Badge } from "./badge.tsx";
import { visibleText } from "./visible-text.ts";

/** Tags of users, each in bounds. */
export function Tags({ tags }: { tags: readonly string[] }): ReactNode {
  return (
    <span className="inline-flex max-w-72 flex-wrap gap-1">
      {tags.map((tag) => (
        <Badge key={tag}>
          <bdi className="max-w-40 truncate">{visibleText(tag)}</bdi>
        </Badge>
      ))}
    </span>
  );
}
