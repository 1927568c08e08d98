import type { WrittenFile } from "@keelson/contract";
import { useBlocker } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useAction } from "../../../api/use-action.ts";
import { Async } from "../../../ui/async.tsx";
import { Button } from "../../../ui/button.tsx";
import { ErrorPanel } from "../../../ui/error-panel.tsx";
import { visibleText } from "../../../ui/visible-text.ts";
import { useWholeFile, type FileOfVersion } from "./file-bytes.ts";
import { decodeText, fileKindOf, lineEndOf, type LineEnd } from "./file-kind.ts";
import { isConflict, writeFile } from "./file-writes.ts";

export const MAX_EDITED_BYTES = 256 * 1024;

/** Why an editor of text could not give the file back as it was, or how its lines end. */
function editable(bytes: Uint8Array): { text: string; lineEnd: LineEnd } | { refusal: string } {
  if (fileKindOf(bytes).kind !== "text") return { refusal: "This is no text." };
  const { text, isDamaged } = decodeText(bytes, true);
  if (isDamaged) return { refusal: "This file is not UTF-8. Saving it here would damage it." };
  const lineEnd = lineEndOf(text);
  return lineEnd === null
    ? { refusal: "The file mixes line endings. Saving it here would change all of them." }
    : { text, lineEnd };
}

/** Changes a small text; saving it makes a version. */
export function FileEditor({ file, onDone }: { file: FileOfVersion; onDone: () => void }): ReactNode {
  const result = useWholeFile(file);
  return (
    <Async result={result}>
      {(bytes) => {
        const found = editable(bytes);
        if ("text" in found) return <TextEditor file={file} {...found} onDone={onDone} />;
        return (
          <div className="flex items-center gap-3 p-4">
            <p>{found.refusal}</p>
            <Button onClick={onDone}>Back</Button>
          </div>
        );
      }}
    </Async>
  );
}

function TextEditor({
  file: { workspaceId, entry },
  text,
  lineEnd,
  onDone,
}: {
  file: FileOfVersion;
  text: string;
  lineEnd: LineEnd;
  onDone: () => void;
}): ReactNode {
  // An editor's lines end by line feeds alone.
  const [edited, setEdited] = useState(() => text.replaceAll("\r\n", "\n"));
  const isChanged = edited.replaceAll("\n", lineEnd) !== text;
  const save = useAction<boolean, WrittenFile>(
    (place, isForced) =>
      writeFile(place, workspaceId, {
        path: entry.path,
        text: edited.replaceAll("\n", lineEnd),
        condition: isForced || entry.digest === null ? null : { digest: entry.digest },
      }),
    { isShownInPlace: true, done: "Saved as a new version.", onDone },
  );
  useBlocker({
    // oxlint-disable-next-line no-alert -- the browser's own question, as for leaving the site
    shouldBlockFn: () => isChanged && !save.isSuccess && !confirm("Leave without saving your changes?"),
    enableBeforeUnload: isChanged,
  });
  return (
    <form
      className="flex min-h-0 flex-1 flex-col"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate(false);
      }}
    >
      <textarea
        aria-label={`Text of ${visibleText(entry.path)}`}
        dir="ltr"
        spellCheck={false}
        value={edited}
        onChange={({ target }) => setEdited(target.value)}
        className="min-h-40 flex-1 resize-none bg-surface p-3 font-mono text-xs leading-5 focus-visible:outline-offset-[-2px]"
      />
      <EditorErrors error={save.error} onOverwrite={() => save.mutate(true)} />
      <div className="flex justify-end gap-2 border-t border-line px-3 py-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" kind="primary" isBusy={save.isPending} disabled={!isChanged}>
          Save as a version
        </Button>
      </div>
    </form>
  );
}

/** Your text stays in the editor, whatever the server said. */
export function EditorErrors({
  error,
  onOverwrite,
}: {
  error: unknown;
  onOverwrite?: () => void;
}): ReactNode {
  if (error === null) return null;
  if (!isConflict(error) || onOverwrite === undefined)
    return (
      <div className="p-3">
        <ErrorPanel error={error} />
      </div>
    );
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 bg-warn-ground px-3 py-2 text-warn">
      <p className="flex-1 basis-64">
        Somebody else changed this file since you opened it. Your text is still here: copy it and cancel to
        see their text, or replace it with yours. Their text stays in the history.
      </p>
      <Button kind="danger" onClick={onOverwrite}>
        Replace theirs
      </Button>
    </div>
  );
}
