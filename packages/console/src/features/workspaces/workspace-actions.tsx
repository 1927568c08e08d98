import type { Workspace } from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import { Play, Square, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { deleteWorkspace, materializeWorkspace, stopWorkspace } from "../../api/routes/workspaces.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { workspaceName } from "./describe-workspace.ts";
import { isOnMachine } from "./workspace-data.ts";

/** Puts it on a machine, takes it off, deletes it. */
export function WorkspaceActions({ workspace }: { workspace: Workspace }): ReactNode {
  const params = { workspace_id: workspace.id };
  const navigate = useNavigate();
  const start = useAction((place) => send(at(materializeWorkspace, params), { body: place }));
  const stop = useAction((place) => send(at(stopWorkspace, params), { body: place }));
  const remove = useAction((place) => send(at(deleteWorkspace, params), { query: place }), {
    isShownInPlace: true,
    done: "Workspace deleted.",
    onDone: () =>
      void navigate({
        to: "/e/$environmentId/workspaces",
        params: { environmentId: workspace.environment_id },
        search: {},
      }),
  });
  if (workspace.status !== "active") return null;
  return (
    <>
      {workspace.materialization?.status === "uncommitted" ? null : isOnMachine(workspace) ? (
        <Button
          icon={<Square size={14} aria-hidden />}
          isBusy={stop.isPending || workspace.materialization?.status === "stopping"}
          title="Ends all commands and terminals and commits the changes"
          onClick={() => stop.mutate()}
        >
          Stop and commit
        </Button>
      ) : (
        <Button
          icon={<Play size={14} aria-hidden />}
          isBusy={start.isPending}
          title="Starts the workspace on a worker. Commands and terminals also start it"
          onClick={() => start.mutate()}
        >
          Start
        </Button>
      )}
      <ConfirmButton
        icon={<Trash2 size={14} aria-hidden />}
        title="Delete the workspace"
        description="This ends all commands and terminals and deletes all versions. Forks keep their files. You cannot undo this."
        name={workspaceName(workspace)}
        verb="Delete"
        onConfirm={() => remove.mutateAsync()}
      >
        Delete
      </ConfirmButton>
    </>
  );
}
