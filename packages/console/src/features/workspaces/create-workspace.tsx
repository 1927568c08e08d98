import type { Workspace } from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { createWorkspace } from "../../api/routes/workspaces.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { TextField } from "../../ui/field.tsx";
import { listOfWords } from "./list-of-words.ts";

type Fields = { sandbox: string; externalId: string; tags: string; fromVersionId: string };

/** What is left empty is left out: the server says what then holds. */
const toBody = ({ sandbox, externalId, tags, fromVersionId }: Fields): Record<string, unknown> => ({
  ...(sandbox.trim() !== "" && { sandbox: sandbox.trim() }),
  ...(externalId.trim() !== "" && { external_id: externalId.trim() }),
  ...(fromVersionId.trim() !== "" && { from_version_id: fromVersionId.trim() }),
  ...(tags.trim() !== "" && { tags: listOfWords(tags) }),
});

/** Makes an empty workspace, one of a sandbox, or a fork of a version, and goes to it. */
export function CreateWorkspace({
  fromVersionId,
  onClose,
}: {
  fromVersionId: string;
  onClose: () => void;
}): ReactNode {
  const navigate = useNavigate();
  const [fields, setFields] = useState<Fields>({ sandbox: "", externalId: "", tags: "", fromVersionId });
  const create = useAction<Fields, Workspace>(
    (place, input) => send(createWorkspace, { body: { ...place, ...toBody(input) } }),
    {
      isShownInPlace: true,
      onDone: ({ id, environment_id: environmentId }) =>
        void navigate({
          to: "/e/$environmentId/workspaces/$workspaceId",
          params: { environmentId, workspaceId: id },
        }),
    },
  );
  const field = (name: keyof Fields) => ({
    value: fields[name],
    autoComplete: "off",
    onChange: ({ target }: { target: { value: string } }) => setFields({ ...fields, [name]: target.value }),
  });
  const isFork = fromVersionId !== "";
  return (
    <Dialog
      title={isFork ? "Fork into a new workspace" : "New workspace"}
      description={
        isFork
          ? "The new workspace starts with the files of this version. Later changes do not affect the other workspace."
          : "The workspace starts with the files that the sandbox's setup creates, or empty. A worker gets it when a command or run needs it."
      }
      isOpen
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate(fields);
        }}
      >
        <TextField
          label="Sandbox"
          hint={isFork ? "Leave empty for the sandbox of the source." : "Leave empty for the default."}
          {...field("sandbox")}
        />
        <TextField label="External id" hint="The id that your own system uses." {...field("externalId")} />
        <TextField label="Tags" hint="Separated by spaces." {...field("tags")} />
        <TextField
          label="Fork of version"
          hint="A version of any workspace in this environment: wsv_…"
          {...field("fromVersionId")}
        />
        {create.error !== null && <ErrorPanel error={create.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={create.isPending}>
            {isFork ? "Fork" : "Create"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
