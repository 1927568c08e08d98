import type { Stream } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { showToast } from "../../ui/toast-store.ts";
import type { ConversationView } from "./conversation.ts";

/** What stands before the first row: records that are kept but not read yet, and those that are gone. */
export function Earlier({
  view,
  streams,
  onRead,
}: {
  view: ConversationView;
  streams: readonly Stream[];
  onRead: () => Promise<void>;
}): ReactNode {
  const [isReading, setIsReading] = useState(false);
  const gone = view.held.filter(({ goneUpTo }) => goneUpTo > 0);
  const unread = view.held.reduce((sum, { first, goneUpTo }) => sum + Math.max(0, first - 1 - goneUpTo), 0);
  if (streams.length === 0 || (gone.length === 0 && unread === 0)) return null;
  const read = (): void => {
    setIsReading(true);
    onRead()
      .catch((error: unknown) => showToast({ error }))
      .finally(() => setIsReading(false));
  };
  return (
    <div className="flex flex-col items-center gap-2 py-2 text-center text-xs text-quiet">
      {gone.map(({ stream, goneUpTo }) => (
        <p key={stream}>
          The first {goneUpTo.toLocaleString()} records of <strong>{stream}</strong> are no longer kept.
        </p>
      ))}
      {unread > 0 && (
        <Button isBusy={isReading} onClick={read}>
          {isReading ? "Reading …" : `Show earlier records (${unread.toLocaleString()})`}
        </Button>
      )}
    </div>
  );
}
