import type { ReactNode } from "react";
import { CopyText } from "./copy-button.tsx";

/** Nothing is there: says what would be, and the next step, with the command for it. */
export function Empty({
  title,
  children,
  command,
  action,
}: {
  title: string;
  children?: ReactNode;
  command?: string;
  action?: ReactNode;
}): ReactNode {
  return (
    <div className="flex flex-col items-center gap-3 rounded-lg border border-dashed border-line px-6 py-10 text-center">
      <p className="text-base font-medium">{title}</p>
      {children !== undefined && <div className="max-w-lg text-quiet">{children}</div>}
      {command !== undefined && (
        <div className="w-full max-w-lg text-left">
          <CopyText text={command} />
        </div>
      )}
      {action}
    </div>
  );
}
