import type { ReactNode } from "react";
import { CopyText } from "./copy-button.tsx";

/** A credential that was just made: only its digest is kept, so it can be taken only now. */
export function ShownOnce({ what, text, use }: { what: string; text: string; use?: string }): ReactNode {
  return (
    <div className="flex flex-col gap-3">
      <p role="status">{what} is shown only now. Keep it where secrets are kept.</p>
      <CopyText text={text} />
      {use !== undefined && <CopyText text={use} />}
    </div>
  );
}
