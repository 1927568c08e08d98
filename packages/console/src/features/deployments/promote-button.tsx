import type { Deployment } from "@keelson/contract";
import { Rocket, Undo2 } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { promoteDeployment } from "../../api/routes/deployments.ts";
import { Button } from "../../ui/button.tsx";
import { ChangeList } from "./change-list.tsx";
import { diffDeployments, isOlder } from "./diff-deployments.ts";

const ConfirmDialog = lazy(async () => ({ default: (await import("../../ui/dialog.tsx")).ConfirmDialog }));

/** Makes a version the current one, after it has said what that changes. */
export function PromoteButton({
  deployment,
  current,
}: {
  deployment: Deployment;
  current: Deployment | null;
}): ReactNode {
  const [isAsking, setIsAsking] = useState(false);
  const { id, version } = deployment;
  const isRollback = current !== null && isOlder(version, current.version);
  const promote = useAction((place) => send(at(promoteDeployment, { id }), { body: place }), {
    isShownInPlace: true,
    done: `${version} is the current deployment`,
  });
  const Icon = isRollback ? Undo2 : Rocket;
  return (
    <>
      <Button kind="primary" icon={<Icon size={15} aria-hidden />} onClick={() => setIsAsking(true)}>
        {isRollback ? "Roll back to it" : "Promote"}
      </Button>
      {isAsking && (
        <Suspense>
          <ConfirmDialog
            title={isRollback ? `Roll back to ${version}` : `Promote ${version}`}
            description={
              <div className="flex flex-col gap-3 text-text">
                <p>
                  {current === null
                    ? "This becomes the first current deployment."
                    : `This replaces ${current.version}.`}{" "}
                  Runs that have started stay in their version.
                </p>
                {current !== null && <ChangeList changes={diffDeployments(current, deployment)} />}
              </div>
            }
            verb={isRollback ? "Roll back" : "Promote"}
            onConfirm={() => promote.mutateAsync()}
            onClose={() => setIsAsking(false)}
          />
        </Suspense>
      )}
    </>
  );
}
