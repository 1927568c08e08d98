import type { ReactNode } from "react";
import { useItem } from "../api/use-item.ts";
import { listRuns } from "../api/routes/runs.ts";
import { Async } from "../ui/async.tsx";
import { Section } from "../ui/page.tsx";
import { EnvironmentLink } from "./environment-link.tsx";
import { RunTable } from "./run-table.tsx";

const REFETCH_MS = 2000;
const SHOWN_RUNS = 10;

/** The newest runs that match a filter, with a link to the list of all of them. */
export function RecentRuns({
  filter,
  title,
  allLabel,
  emptyText,
  hasEntrypoint = false,
}: {
  filter: Readonly<Record<string, string>>;
  title: string;
  /** The text of the link to the list. */
  allLabel: string;
  emptyText: string;
  /** They are not all of one task. */
  hasEntrypoint?: boolean;
}): ReactNode {
  const recent = useItem(listRuns, { query: { ...filter, limit: SHOWN_RUNS }, refetchMs: REFETCH_MS });
  return (
    <Section
      title={title}
      actions={
        <EnvironmentLink to="runs" search={filter}>
          {allLabel}
        </EnvironmentLink>
      }
    >
      <Async result={recent}>
        {({ runs }) =>
          runs.length === 0 ? (
            <p className="text-quiet">{emptyText}</p>
          ) : (
            <RunTable label="Runs" runs={runs} hasEntrypoint={hasEntrypoint} />
          )
        }
      </Async>
    </Section>
  );
}
