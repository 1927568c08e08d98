import { X } from "lucide-react";
import { useSyncExternalStore, type ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";
import { currentToasts, dismissToast, subscribeToasts } from "./toast-store.ts";

/** The place of all toasts. It is always there, so that readers of the screen hear what is added. */
export function Toasts(): ReactNode {
  const toasts = useSyncExternalStore(subscribeToasts, currentToasts);
  return (
    <div aria-live="polite" className="fixed right-4 bottom-4 z-50 flex w-[min(24rem,92vw)] flex-col gap-2">
      {toasts.map(({ id, text, isError, requestId }) => (
        <div
          key={id}
          className={cx(
            "flex items-start gap-2 rounded-lg border border-line p-3 shadow-lg",
            isError ? "bg-bad-ground text-bad" : "bg-surface",
          )}
        >
          <div className="min-w-0 flex-1">
            <p className="break-words">{text}</p>
            {requestId !== null && <p className="mt-1 truncate font-mono text-xs">Request {requestId}</p>}
          </div>
          <IconButton label="Dismiss" onClick={() => dismissToast(id)}>
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
