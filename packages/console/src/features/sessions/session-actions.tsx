import type { Session } from "@keelson/contract";
import { CircleStop, X } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { cancelSession, closeSession } from "../../api/routes/sessions.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";

/** What ends an open session. */
export function SessionActions({ session }: { session: Session }): ReactNode {
  const { id } = session;
  const close = useAction((place) => send(at(closeSession, { id }), { body: place }), {
    done: "Session closed.",
    isShownInPlace: true,
  });
  const cancel = useAction((place) => send(at(cancelSession, { id }), { body: place }), {
    done: "Session cancelled.",
    isShownInPlace: true,
  });
  if (session.status !== "open") return null;
  return (
    <>
      <ConfirmButton
        icon={<X size={15} aria-hidden />}
        title="Close this session?"
        description="The session takes no more input. A running turn finishes. A run that waits for input is told that none will come. You cannot reopen a session."
        verb="Close the session"
        onConfirm={() => close.mutateAsync()}
      >
        Close
      </ConfirmButton>
      <ConfirmButton
        icon={<CircleStop size={15} aria-hidden />}
        title="Cancel this session?"
        description="The session takes no more input, and Keelson asks its live run to end. After 10 seconds the process is killed. You cannot undo this."
        verb="Cancel the session"
        onConfirm={() => cancel.mutateAsync()}
      >
        Cancel
      </ConfirmButton>
    </>
  );
}
