import type { FileEntry, Workspace } from "@keelson/contract";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Download, Pencil } from "lucide-react";
import { useState, type ReactNode } from "react";
import { get } from "../../../api/client.ts";
import { usePlace } from "../../../api/place.ts";
import { isNotFound } from "../../../api/use-follow.ts";
import { at } from "../../../api/route.ts";
import { statWorkspaceFile } from "../../../api/routes/workspace-files.ts";
import { Async } from "../../../ui/async.tsx";
import { Badge } from "../../../ui/badge.tsx";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { describeBytes } from "../../../ui/describe-bytes.ts";
import { Empty } from "../../../ui/empty.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { immutableKey } from "../workspace-data.ts";
import { DeleteFile } from "./delete-file.tsx";
import { useDownloadUrl, type FileOfVersion } from "./file-bytes.ts";
import { FileEditor, MAX_EDITED_BYTES } from "./file-editor.tsx";
import { FilePreview } from "./file-preview.tsx";

type FileViewProps = {
  workspace: Workspace;
  versionId: string;
  path: string;
  canWrite: boolean;
  /** Why it cannot be changed here, when it cannot. */
  whyNot: string;
  /** It was deleted. */
  onGone: () => void;
};

/** One entry of a version: what it is, its content, and what can be done with it. */
export function FileView(props: FileViewProps): ReactNode {
  const { workspace, versionId, path } = props;
  const place = usePlace();
  // What is edited stays as it was opened, whatever becomes of the current version meanwhile.
  const [edited, setEdited] = useState<FileOfVersion | null>(null);
  const result = useQuery<FileEntry>({
    queryKey: immutableKey(place.environment_id, workspace.id, "stat", versionId, path),
    queryFn: ({ signal }) =>
      get(
        at(statWorkspaceFile, { workspace_id: workspace.id }),
        { ...place, path, source: "version", version_id: versionId },
        signal,
      ),
    staleTime: "static",
    placeholderData: keepPreviousData,
  });
  if (edited !== null)
    return (
      <EntryView {...props} file={edited} isEdited onEdit={() => undefined}>
        <FileEditor file={edited} onDone={() => setEdited(null)} />
      </EntryView>
    );
  if (isNotFound(result.error))
    return (
      <div className="m-auto p-4">
        <Empty title="This version has no file at this path">
          <bdi dir="ltr" className="font-mono text-xs break-all">
            {visibleText(path)}
          </bdi>
        </Empty>
      </div>
    );
  return (
    <Async result={result}>
      {(entry) => {
        const file = { workspaceId: workspace.id, versionId, entry };
        return (
          <EntryView {...props} file={file} isEdited={false} onEdit={() => setEdited(file)}>
            <EntryContent file={file} />
          </EntryView>
        );
      }}
    </Async>
  );
}

function EntryView({
  file,
  canWrite,
  whyNot,
  onGone,
  isEdited,
  onEdit,
  children,
}: FileViewProps & {
  file: FileOfVersion;
  isEdited: boolean;
  onEdit: () => void;
  children: ReactNode;
}): ReactNode {
  const { entry } = file;
  const url = useDownloadUrl(file);
  const isFile = entry.kind === "file";
  const isSmall = entry.size_bytes <= MAX_EDITED_BYTES;
  return (
    <>
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-2">
        <bdi dir="ltr" className="min-w-0 flex-1 basis-48 font-mono text-xs font-medium break-all">
          {visibleText(entry.path)}
        </bdi>
        <span className="text-xs text-quiet">
          {isFile && `${describeBytes(entry.size_bytes)}, `}
          {entry.mode}
        </span>
        {isFile && (
          <>
            <Button
              icon={<Pencil size={14} aria-hidden />}
              disabled={!canWrite || !isSmall || isEdited}
              title={canWrite ? (isSmall ? undefined : "This file is too large to edit here") : whyNot}
              onClick={onEdit}
            >
              Edit
            </Button>
            <a href={url} download className={buttonClass()}>
              <Download size={14} aria-hidden /> Download
            </a>
          </>
        )}
        {entry.path !== "" && <DeleteFile file={file} canWrite={canWrite} whyNot={whyNot} onDone={onGone} />}
      </header>
      {children}
    </>
  );
}

function EntryContent({ file }: { file: FileOfVersion }): ReactNode {
  const { entry } = file;
  if (entry.kind === "file") return <FilePreview file={file} />;
  if (entry.kind === "directory")
    return <p className="p-4 text-quiet">This is a directory. The tree shows its entries.</p>;
  return (
    <div className="flex flex-col gap-2 p-4">
      <p>
        <Badge tone="info">Symbolic link</Badge>
      </p>
      <p>
        It points to{" "}
        <bdi dir="ltr" className="font-mono text-xs break-all">
          {visibleText(entry.link_target ?? "")}
        </bdi>
        . The console never follows links.
      </p>
    </div>
  );
}
