import type { Message, Session } from "@keelson/contract";
import { Square } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { at } from "../../api/route.ts";
import { interruptSessionMessage, listSessionMessages } from "../../api/routes/sessions.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { Button } from "../../ui/button.tsx";

/** More than one message at a time is rare. */
const SHOWN = 5;

/** The messages that the session's run is writing, each with what stops it. */
export function BeingWritten({ session }: { session: Session }): ReactNode {
  const open = useItem(at(listSessionMessages, { id: session.id }), {
    query: { status: "open", limit: SHOWN },
    refetchMs: 2000,
  });
  const messages = open.data?.messages ?? [];
  if (messages.length === 0) return null;
  return (
    <ul
      aria-label="Being written"
      className="flex flex-col gap-1 border-t border-line bg-surface px-3 py-1.5"
    >
      {messages.map((message) => (
        <li key={message.id} className="flex items-center justify-between gap-2 text-xs text-quiet">
          <Stop session={session} message={message} />
        </li>
      ))}
    </ul>
  );
}

function Stop({ session, message }: { session: Session; message: Message }): ReactNode {
  const stop = useAction((place) =>
    send(at(interruptSessionMessage, { id: session.id }), { body: { ...place, message_id: message.id } }),
  );
  const isStopping = message.interrupt_requested_at !== null || stop.isPending || stop.isSuccess;
  return (
    <>
      <span>
        {isStopping ? "Being stopped: " : "Being written: "}
        <span className="font-medium text-text">{message.stream}</span>
      </span>
      <Button icon={<Square size={12} aria-hidden />} disabled={isStopping} onClick={() => stop.mutate()}>
        Stop
      </Button>
    </>
  );
}
