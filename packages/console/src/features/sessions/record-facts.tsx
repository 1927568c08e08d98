import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { pageAddress } from "../../app/navigation.ts";
import { Id } from "../../ui/copy-button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { absoluteTime } from "../../ui/time.tsx";
import type { Row } from "./join-records.ts";

/** All there is to know of a row's first record, and to which it goes on. */
export function RecordFacts({ row }: { row: Row }): ReactNode {
  const { environmentId } = useParams({ from: "/signed-in/e/$environmentId" });
  const { first, last, count } = row;
  const facts: (readonly [string, ReactNode])[] = [
    ["Record", <Id key="id" value={first.id} />],
    ["Sequence", count > 1 ? `${first.sequence} to ${last.sequence}` : first.sequence],
    ["Appended", absoluteTime(first.created_at)],
    ["By", `${first.source.kind}${first.source.id === null ? "" : ` ${first.source.id}`}`],
  ];
  if (first.run_id !== null)
    facts.push([
      "Run",
      <Link
        key="run"
        to={pageAddress(`/e/${environmentId}/runs`, first.run_id)}
        className="font-mono text-xs text-accent hover:underline"
      >
        {first.run_id} {first.attempt_number !== null && `attempt ${first.attempt_number}`}
      </Link>,
    ]);
  if (first.content_type !== null) facts.push(["Content type", first.content_type]);
  return (
    <div className="w-full rounded-lg border border-line bg-surface p-3 text-xs">
      <dl className="mb-2 grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-quiet">{name}</dt>
            <dd className="min-w-0 break-all">{value}</dd>
          </div>
        ))}
      </dl>
      <JsonView value={first.data} label="the record's data" />
    </div>
  );
}
