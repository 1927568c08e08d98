import type { Token } from "@keelson/contract";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useUser } from "../../app/session.ts";
import { IconButton } from "../../ui/button.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Time } from "../../ui/time.tsx";
import { describeCompleter, outcomeVerb } from "./completion-form.ts";

/** Who ended a token, how and when. */
export function OutcomeSentence({ token }: { token: Token }): ReactNode {
  const user = useUser();
  switch (token.status) {
    case "pending":
      return <>Pending</>;
    case "cancelled":
      return (
        <>
          Cancelled <Time at={token.updated_at} isPast />: nobody can complete it any more
        </>
      );
    case "expired":
      return (
        <>
          Expired <Time at={token.timeout_at} isPast />: nobody completed it in time
        </>
      );
    case "completed":
      return (
        <>
          {outcomeVerb(token)} by <strong>{describeCompleter(token.completed_by, user.id)}</strong>{" "}
          <Time at={token.completed_at} isPast />
        </>
      );
  }
}

/** The outcome of a token. */
export function Outcome({ token }: { token: Token }): ReactNode {
  const isCompleted = token.status === "completed";
  return (
    <div className="flex flex-col gap-2">
      <p>
        <OutcomeSentence token={token} />
        {isCompleted ? ", with" : "."}
      </p>
      {isCompleted && <JsonView value={token.data} label="the completed data" />}
    </div>
  );
}

/** Somebody was faster: the token stays as they left it. */
export function Overtaken({ token, onDismiss }: { token: Token; onDismiss: () => void }): ReactNode {
  const user = useUser();
  return (
    <div
      role="alert"
      className="flex items-start gap-2 rounded-lg border border-line bg-warn-ground px-3 py-2 text-warn"
    >
      <p className="min-w-0 flex-1 break-words">
        {token.status === "completed" ? (
          <>
            Already completed by {describeCompleter(token.completed_by, user.id)}, with{" "}
            <code className="font-mono text-xs break-all">{JSON.stringify(token.data)}</code>. That stays;
            what you sent changed nothing.
          </>
        ) : (
          <>The token is {token.status} already; what you sent changed nothing.</>
        )}
      </p>
      <IconButton label="Dismiss" onClick={onDismiss}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  );
}
