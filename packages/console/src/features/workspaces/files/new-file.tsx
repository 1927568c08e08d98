import type { WrittenFile } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { useAction } from "../../../api/use-action.ts";
import { Button } from "../../../ui/button.tsx";
import { TextAreaField, TextField } from "../../../ui/field.tsx";
import { EditorErrors } from "./file-editor.tsx";
import { writeFile } from "./file-writes.ts";

/** Makes a file that is not there yet, and the directories around it. */
export function NewFile({
  workspaceId,
  onDone,
  onCancel,
}: {
  workspaceId: string;
  onDone: (path: string) => void;
  onCancel: () => void;
}): ReactNode {
  const [path, setPath] = useState("");
  const [text, setText] = useState("");
  const create = useAction<void, WrittenFile>(
    (place) => writeFile(place, workspaceId, { path, text, condition: "new" }),
    { isShownInPlace: true, done: "Saved as a new version.", onDone: () => onDone(path) },
  );
  return (
    <form
      className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-4"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <TextField
        label="Path"
        hint="A path relative to the workspace root, such as src/main.py."
        required
        autoComplete="off"
        value={path}
        onChange={({ target }) => setPath(target.value)}
      />
      <TextAreaField
        label="Text"
        spellCheck={false}
        rows={12}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <EditorErrors error={create.error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" kind="primary" isBusy={create.isPending}>
          Save as a version
        </Button>
      </div>
    </form>
  );
}
