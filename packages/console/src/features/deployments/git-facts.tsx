import type { Deployment } from "@keelson/contract";
import type { ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";

const SHORT = 12;

/** What the code was made from, as far as the one who deployed it said. */
export function GitFacts({ git }: { git: Deployment["git"] }): ReactNode {
  const { commit = null, branch = null, dirty } = git ?? {};
  if (commit === null && branch === null) return <span className="text-quiet">unknown</span>;
  return (
    <span className="inline-flex flex-wrap items-center gap-1.5">
      {branch !== null && <span className="break-all">{branch}</span>}
      {commit !== null && (
        <code className="font-mono text-xs" title={commit}>
          {commit.slice(0, SHORT)}
        </code>
      )}
      {dirty === true && <Badge tone="warn">uncommitted changes</Badge>}
    </span>
  );
}
