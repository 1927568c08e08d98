import type { DiffEntry, FileEntry } from "@keelson/contract";
import { useMemo, type ReactNode } from "react";
import { Loading } from "../../../ui/async.tsx";
import { Button } from "../../../ui/button.tsx";
import { describeBytes } from "../../../ui/describe-bytes.ts";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { useWholeFile, type FileOfVersion } from "../files/file-bytes.ts";
import { decodeText, fileKindOf } from "../files/file-kind.ts";
import { ImageOfBytes, MAX_IMAGE_BYTES } from "../files/image-of-bytes.tsx";
import { useWorkspaceSearch } from "../use-workspace-search.ts";
import { DiffLines } from "./diff-lines.tsx";

/** Larger texts are not compared by line: they are opened side by side. */
const MAX_TEXT_BYTES = 1024 * 1024;

export type Compared = { workspaceId: string; versionId: string; baseId: string | null };

/** What happened to one path. */
export function ChangeView({ change, compared }: { change: DiffEntry; compared: Compared }): ReactNode {
  const { before, after } = change;
  const { workspaceId, versionId, baseId } = compared;
  const old = fileOf(before, workspaceId, baseId);
  const young = fileOf(after, workspaceId, versionId);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Facts change={change} compared={compared} />
      {old === null && young === null ? null : <ContentChange old={old} young={young} path={change.path} />}
    </div>
  );
}

const fileOf = (
  entry: FileEntry | null,
  workspaceId: string,
  versionId: string | null,
): FileOfVersion | null =>
  entry === null || versionId === null || entry.kind !== "file" ? null : { workspaceId, versionId, entry };

function Facts({
  change: { path, change, before, after },
  compared: { versionId, baseId },
}: {
  change: DiffEntry;
  compared: Compared;
}): ReactNode {
  const [, show] = useWorkspaceSearch();
  const open = (version: string | null) => () =>
    show({ tab: "files", version: version ?? undefined, base: undefined, path });
  const facts = [
    before !== null && after !== null && before.kind !== after.kind && `${before.kind} → ${after.kind}`,
    before !== null && after !== null && before.mode !== after.mode && `mode ${before.mode} → ${after.mode}`,
    sizeChange(before, after),
    linkChange(before, after),
  ].filter((fact) => typeof fact === "string");
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2">
      <bdi dir="ltr" className="min-w-0 font-mono text-xs font-medium break-all">
        {visibleText(path)}
      </bdi>
      <span className="text-xs break-all text-quiet">{[change, ...facts].join(", ")}</span>
      <span className="ml-auto flex gap-2">
        {before !== null && <Button onClick={open(baseId)}>Open before</Button>}
        {after !== null && <Button onClick={open(versionId)}>Open after</Button>}
      </span>
    </header>
  );
}

function sizeChange(before: FileEntry | null, after: FileEntry | null): string | null {
  const sizes = [before, after].map((entry) =>
    entry?.kind === "file" ? describeBytes(entry.size_bytes) : null,
  );
  const [old, young] = sizes;
  if (old !== null && young !== null && old !== young) return `${old} → ${young}`;
  return old ?? young ?? null;
}

function linkChange(before: FileEntry | null, after: FileEntry | null): string | null {
  const targets = [before, after]
    .map((entry) => entry?.link_target ?? null)
    .filter((target) => target !== null);
  return targets.length === 0 ? null : `link to ${targets.map(visibleText).join(" → ")}`;
}

function ContentChange({
  old,
  young,
  path,
}: {
  old: FileOfVersion | null;
  young: FileOfVersion | null;
  path: string;
}): ReactNode {
  const most = Math.max(old?.entry.size_bytes ?? 0, young?.entry.size_bytes ?? 0);
  const isReadable = most <= MAX_IMAGE_BYTES;
  const before = useWholeFile(isReadable ? old : null);
  const after = useWholeFile(isReadable ? young : null);
  const error = before.error ?? after.error;
  if (!isReadable)
    return <p className="p-4 text-quiet">This file is too large to compare here. Open it in each version.</p>;
  if (error !== null)
    return (
      <div className="p-3">
        <ErrorPanel error={error} />
      </div>
    );
  if ((old !== null && before.data === undefined) || (young !== null && after.data === undefined))
    return <Loading />;
  return <BytesChange before={before.data ?? null} after={after.data ?? null} path={path} />;
}

function BytesChange({
  before,
  after,
  path,
}: {
  before: Uint8Array | null;
  after: Uint8Array | null;
  path: string;
}): ReactNode {
  const kinds = [before, after].map((bytes) => (bytes === null ? null : fileKindOf(bytes)));
  const texts = useMemo(
    () => [before, after].map((bytes) => (bytes === null ? "" : decodeText(bytes, true).text)),
    [before, after],
  );
  if (kinds.some((kind) => kind?.kind === "image"))
    return (
      <div
        tabIndex={0}
        role="region"
        aria-label="Pictures"
        className="grid min-h-0 flex-1 grid-cols-2 gap-4 overflow-auto bg-raised p-4"
      >
        <Side title="Before" bytes={before} />
        <Side title="After" bytes={after} />
      </div>
    );
  if (kinds.some((kind) => kind?.kind === "binary"))
    return <p className="p-4 text-quiet">This file is not text. Open it in each version to see its bytes.</p>;
  if (Math.max(before?.length ?? 0, after?.length ?? 0) > MAX_TEXT_BYTES)
    return (
      <p className="p-4 text-quiet">
        This file is too large for a comparison by line. Open it in each version.
      </p>
    );
  return (
    <DiffLines
      label={`What changed in ${visibleText(path)}`}
      before={texts[0] ?? ""}
      after={texts[1] ?? ""}
    />
  );
}

function Side({ title, bytes }: { title: string; bytes: Uint8Array | null }): ReactNode {
  const kind = bytes === null ? null : fileKindOf(bytes);
  return (
    <figure className="min-w-0">
      <figcaption className="mb-2 text-xs text-quiet">{title}</figcaption>
      {bytes === null ? (
        <p className="text-quiet">Not there</p>
      ) : kind?.kind === "image" ? (
        <ImageOfBytes bytes={bytes} type={kind.type} alt={title} />
      ) : (
        <p className="text-quiet">No picture, {describeBytes(bytes.length)}</p>
      )}
    </figure>
  );
}
