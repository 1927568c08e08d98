import type { Materialization, Workspace } from "@keelson/contract";
import { RotateCw, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { discardWorkspace, recoverWorkspace } from "../../api/routes/workspaces.ts";
import { Button } from "../../ui/button.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { workspaceName } from "./describe-workspace.ts";
import { useVersion } from "./workspace-data.ts";

/** A worker holds uncommitted files: why, where they are, and what a person can do. */
export function Uncommitted({ workspace }: { workspace: Workspace }): ReactNode {
  const { materialization, status_reason: reason } = workspace;
  if (materialization?.status !== "uncommitted") return null;
  const isHeard = reason?.details?.["worker_heard"] !== false;
  return (
    <section
      aria-labelledby="uncommitted"
      className="flex flex-col gap-3 rounded-lg border border-line bg-warn-ground p-4"
    >
      <div role="status" className="flex flex-col gap-1">
        <h2 id="uncommitted" className="font-semibold text-warn">
          A worker holds uncommitted files
        </h2>
        <p className="break-words">
          {visibleText(materialization.error?.message ?? "The worker gave no reason.")}
        </p>
      </div>
      <Place materialization={materialization} />
      <p>
        {isHeard
          ? "The worker retries in the background. Until a retry succeeds, nothing starts in the workspace."
          : "The worker has not contacted the server since then. Start its agent again on the same data folder, or discard the files. Until then, nothing starts in the workspace."}
      </p>
      <Actions workspace={workspace} />
    </section>
  );
}

function Place({
  materialization: { id, worker_id: worker },
}: {
  materialization: Materialization;
}): ReactNode {
  return (
    <dl className="grid items-baseline gap-x-3 gap-y-1 sm:grid-cols-[auto_1fr]">
      <dt className="text-quiet">Held by worker</dt>
      <dd className="min-w-0 break-all">{worker === null ? "unknown" : <Id value={worker} />}</dd>
      <dt className="text-quiet">In the data folder of the worker’s agent</dt>
      <dd className="min-w-0 font-mono text-xs break-all">agents/…/workspaces/{id}-…/files</dd>
    </dl>
  );
}

function Actions({ workspace }: { workspace: Workspace }): ReactNode {
  const { id, current_version_id: current } = workspace;
  const { data: version } = useVersion(id, current);
  const recover = useAction((place) => send(at(recoverWorkspace, { workspace_id: id }), { body: place }), {
    done: "The worker is retrying the commit.",
  });
  const discard = useAction(
    (place) => send(at(discardWorkspace, { workspace_id: id }), { body: { ...place, confirm: true } }),
    { isShownInPlace: true, done: "The files are discarded. The workspace goes on from its last version." },
  );
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        kind="primary"
        icon={<RotateCw size={14} aria-hidden />}
        isBusy={recover.isPending}
        title="The worker retries the commit now"
        onClick={() => recover.mutate()}
      >
        Recover
      </Button>
      <ConfirmButton
        icon={<Trash2 size={14} aria-hidden />}
        title="Discard the uncommitted files"
        description={`The workspace goes on from version #${version?.number ?? "…"}, and the worker removes the files that it holds. This cannot be undone.`}
        name={workspaceName(workspace)}
        verb="Discard"
        onConfirm={() => discard.mutateAsync()}
      >
        Discard
      </ConfirmButton>
    </div>
  );
}
