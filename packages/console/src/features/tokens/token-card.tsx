import type { Token } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "../../ui/button.tsx";
import { Status } from "../../ui/status.tsx";
import { Tags } from "../../ui/tags.tsx";
import { Time } from "../../ui/time.tsx";
import { CompleteToken } from "./complete-token.tsx";
import { completionForm } from "./completion-form.ts";
import { Countdown, purposeText, Waiter } from "./token-parts.tsx";

/** A token in the list. What is a yes or no can be answered here; for the rest there is its page. */
export function TokenCard({
  token,
  onOvertaken,
}: {
  token: Token;
  onOvertaken: (token: Token) => void;
}): ReactNode {
  const isPending = token.status === "pending";
  return (
    <article
      aria-label={purposeText(token)}
      className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2 rounded-lg border border-line bg-surface px-4 py-3"
    >
      <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">
        <Link
          to="/e/$environmentId/tokens/$tokenId"
          params={{ environmentId: token.environment_id, tokenId: token.id }}
          className="font-medium break-words hover:underline"
        >
          <bdi>{purposeText(token)}</bdi>
        </Link>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-quiet">
          <Waiter token={token} />
          {token.tags.length > 0 && <Tags tags={token.tags} />}
          <span>
            asked <Time at={token.created_at} />
          </span>
        </div>
      </div>
      <div className="flex flex-wrap items-start gap-3">
        {isPending ? <Countdown at={token.timeout_at} /> : <Status value={token.status} />}
        {isPending && <Answer token={token} onOvertaken={onOvertaken} />}
      </div>
    </article>
  );
}

function Answer({ token, onOvertaken }: { token: Token; onOvertaken: (token: Token) => void }): ReactNode {
  if (completionForm(token).kind === "decision")
    return <CompleteToken token={token} isBrief onOvertaken={onOvertaken} />;
  return (
    <Link
      to="/e/$environmentId/tokens/$tokenId"
      params={{ environmentId: token.environment_id, tokenId: token.id }}
      className={buttonClass()}
    >
      Answer …
    </Link>
  );
}
