import type { Workspace, WorkspaceVersion } from "@keelson/contract";
import type { ReactNode } from "react";
import { SelectField } from "../../ui/field.tsx";
import { absoluteTime } from "../../ui/time.tsx";
import { causeName } from "./describe-workspace.ts";
import { useVersion, useVersions } from "./workspace-data.ts";

const labelOf = (version: WorkspaceVersion): string =>
  `#${version.number} · ${causeName(version)} · ${absoluteTime(version.created_at)}`;

/** One of the workspace's versions, or what its absence means. */
export function VersionSelect({
  label,
  workspace,
  value,
  emptyLabel,
  onChange,
}: {
  label: string;
  workspace: Workspace;
  value: string | undefined;
  emptyLabel: string;
  onChange: (versionId: string | undefined) => void;
}): ReactNode {
  const { rows } = useVersions(workspace);
  const known: [string, string][] = rows.map((version) => [version.id, labelOf(version)]);
  const isListed = value === undefined || rows.some(({ id }) => id === value);
  return (
    <div className="w-72 max-w-full">
      <SelectField
        label={label}
        value={value ?? ""}
        options={[["", emptyLabel], ...(isListed ? [] : [[value, value] as const]), ...known]}
        onChange={({ target }) => onChange(target.value === "" ? undefined : target.value)}
      />
      {!isListed && <Unlisted workspaceId={workspace.id} versionId={value} />}
    </div>
  );
}

/** A version that is older than those listed, or of another workspace. */
function Unlisted({ workspaceId, versionId }: { workspaceId: string; versionId: string }): ReactNode {
  const { data } = useVersion(workspaceId, versionId);
  return data === undefined ? null : <p className="mt-1 text-xs text-quiet">{labelOf(data)}</p>;
}
