import type { Run } from "@keelson/contract";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { RotateCcw, Square } from "lucide-react";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { cancelRun } from "../../api/routes/runs.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { StartAgain } from "./start-again.tsx";

export function RunActions({ run }: { run: Run }): ReactNode {
  const [isStarting, setIsStarting] = useState(false);
  const cancel = useAction<void, Run>((place) => send(at(cancelRun, { id: run.id }), { body: place }), {
    done: ({ status }) => (status === "cancelled" ? "Cancelled" : "Asked to stop"),
    isShownInPlace: true,
  });
  return (
    <>
      <Button icon={<RotateCcw size={15} aria-hidden />} onClick={() => setIsStarting(true)}>
        Start again
      </Button>
      {!isTerminalRunStatus(run.status) && run.status !== "cancel_requested" && (
        <ConfirmButton
          icon={<Square size={13} aria-hidden />}
          title="Cancel this run?"
          description="Keelson asks the code to stop and kills it after 10 seconds. You cannot undo this."
          verb="Cancel the run"
          onConfirm={() => cancel.mutateAsync()}
        >
          Cancel
        </ConfirmButton>
      )}
      {isStarting && <StartAgain run={run} onClose={() => setIsStarting(false)} />}
    </>
  );
}
