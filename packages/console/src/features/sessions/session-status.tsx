import type { Session } from "@keelson/contract";
import type { ReactNode } from "react";
import { Status } from "../../ui/status.tsx";

/** While it is open, what its newest run does says more. */
export function SessionStatus({ session }: { session: Session }): ReactNode {
  return (
    <span className="inline-flex flex-wrap gap-1">
      <Status value={session.status} />
      {session.status === "open" && <Status value={session.activity} />}
    </span>
  );
}
