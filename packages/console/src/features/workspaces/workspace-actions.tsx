import type { Workspace } from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import { Play, Square, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { workspaceName } from "./describe-workspace.ts";
import { isOnMachine, workspacePath } from "./workspace-data.ts";

/** Puts it on a machine, takes it off, deletes it. */
export function WorkspaceActions({ workspace }: { workspace: Workspace }): ReactNode {
  const { id } = workspace;
  const navigate = useNavigate();
  const start = useAction((place) => send("POST", workspacePath(id, "/materialize"), { body: place }));
  const stop = useAction((place) => send("POST", workspacePath(id, "/stop"), { body: place }));
  const remove = useAction((place) => send("DELETE", workspacePath(id), { query: place }), {
    isShownInPlace: true,
    done: "The workspace is deleted.",
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
      {isOnMachine(workspace) ? (
        <Button
          icon={<Square size={14} aria-hidden />}
          isBusy={stop.isPending || workspace.materialization?.status === "stopping"}
          title="Ends what runs in it and commits what changed"
          onClick={() => stop.mutate()}
        >
          Stop and commit
        </Button>
      ) : (
        <Button
          icon={<Play size={14} aria-hidden />}
          isBusy={start.isPending}
          title="Puts it on a machine; commands and terminals do so by themselves"
          onClick={() => start.mutate()}
        >
          Start
        </Button>
      )}
      <ConfirmButton
        icon={<Trash2 size={14} aria-hidden />}
        title="Delete the workspace"
        description="Ends what runs in it and deletes all its versions. This cannot be undone. Forks keep their files."
        name={workspaceName(workspace)}
        verb="Delete"
        onConfirm={() => remove.mutateAsync()}
      >
        Delete
      </ConfirmButton>
    </>
  );
}
