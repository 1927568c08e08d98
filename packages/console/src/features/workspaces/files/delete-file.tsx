import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { useAction } from "../../../api/use-action.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import type { FileOfVersion } from "./file-bytes.ts";
import { deleteFile } from "./file-writes.ts";

/** Deletes an entry as it is shown; one that somebody changed meanwhile stays. */
export function DeleteFile({
  file: { workspaceId, entry },
  canWrite,
  whyNot,
  onDone,
}: {
  file: FileOfVersion;
  canWrite: boolean;
  whyNot: string;
  onDone: () => void;
}): ReactNode {
  const remove = useAction(
    (place) =>
      deleteFile(place, workspaceId, {
        path: entry.path,
        digest: entry.kind === "file" ? entry.digest : null,
      }),
    { isShownInPlace: true, done: "Deleted. The workspace has a new version.", onDone },
  );
  const icon = <Trash2 size={14} aria-hidden />;
  if (!canWrite)
    return (
      <Button icon={icon} disabled title={whyNot}>
        Delete file
      </Button>
    );
  const isDirectory = entry.kind === "directory";
  return (
    <ConfirmButton
      icon={icon}
      title={isDirectory ? "Delete the directory" : "Delete the file"}
      description={
        <>
          <bdi dir="ltr" className="font-mono text-xs break-all">
            {visibleText(entry.path)}
          </bdi>{" "}
          {isDirectory && "and all that is in it "}will not be in the next version. Earlier versions keep it.
        </>
      }
      verb="Delete"
      onConfirm={() => remove.mutateAsync()}
    >
      {isDirectory ? "Delete directory" : "Delete file"}
    </ConfirmButton>
  );
}
