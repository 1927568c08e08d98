import type { Session } from "@keelson/contract";
import { CircleStop, X } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";

/** What ends an open session. */
export function SessionActions({ session }: { session: Session }): ReactNode {
  const path = `/api/sessions/${encodeURIComponent(session.id)}`;
  const close = useAction((place) => send("POST", `${path}/close`, { body: place }), {
    done: "The session is closed.",
    isShownInPlace: true,
  });
  const cancel = useAction((place) => send("POST", `${path}/cancel`, { body: place }), {
    done: "The session is cancelled.",
    isShownInPlace: true,
  });
  if (session.status !== "open") return null;
  return (
    <>
      <ConfirmButton
        icon={<X size={15} aria-hidden />}
        title="Close this session?"
        description="It takes no more input. A run that is under way finishes, one that waits for input is told that there will be none. It cannot be opened again."
        verb="Close the session"
        onConfirm={() => close.mutateAsync()}
      >
        Close
      </ConfirmButton>
      <ConfirmButton
        icon={<CircleStop size={15} aria-hidden />}
        title="Cancel this session?"
        description="It takes no more input, and its live run is asked to end; after ten seconds its process is killed. It cannot be undone."
        verb="Cancel the session"
        onConfirm={() => cancel.mutateAsync()}
      >
        Cancel
      </ConfirmButton>
    </>
  );
}
