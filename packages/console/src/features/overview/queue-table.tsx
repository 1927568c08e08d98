import type { QueueActivity } from "@keelson/contract";
import type { ReactNode } from "react";
import { Empty } from "../../ui/empty.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

const limitOf = ({ concurrency_limit: limit, concurrency_key_limit: keyLimit }: QueueActivity): string => {
  const parts = [];
  if (limit !== null) parts.push(`${limit} at once`);
  if (keyLimit !== null) parts.push(`${keyLimit} a key`);
  return parts.join(", ") || "none";
};

const COLUMNS: readonly Column<QueueActivity>[] = [
  { heading: "Queue", cell: ({ queue }) => <span className="break-all">{queue}</span> },
  { heading: "Queued", isNumber: true, cell: ({ queued }) => queued },
  { heading: "Oldest", cell: ({ oldest_queued_at }) => <Time at={oldest_queued_at} /> },
  { heading: "Running", isNumber: true, cell: ({ running }) => running },
  { heading: "Waiting", isNumber: true, isOptional: true, cell: ({ waiting }) => waiting },
  { heading: "Due later", isNumber: true, isOptional: true, cell: ({ delayed }) => delayed },
  { heading: "Limit", isOptional: true, cell: limitOf },
];

export function QueueTable({
  queues,
  isComplete,
}: {
  queues: readonly QueueActivity[];
  isComplete: boolean;
}): ReactNode {
  if (queues.length === 0) return <Empty title="No queue has live runs or a limit" />;
  return (
    <>
      <Table label="Queue by queue" columns={COLUMNS} rows={queues} rowKey={({ queue }) => queue} />
      {!isComplete && (
        <p className="text-xs text-quiet">This table counts only the oldest live runs. There are more.</p>
      )}
    </>
  );
}
