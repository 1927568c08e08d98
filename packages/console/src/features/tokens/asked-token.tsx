import type { Token } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { JsonView } from "../../ui/json-view.tsx";
import { CompleteToken } from "./complete-token.tsx";
import { purposeOf } from "./completion-form.ts";
import { Countdown, purposeText } from "./token-parts.tsx";

/** A pending token where its run or its session is shown: what is asked, with its details, and the answer. */
export function AskedToken({
  token,
  onOvertaken,
}: {
  token: Token;
  onOvertaken: (token: Token) => void;
}): ReactNode {
  const { schema: _, ...details } = purposeOf(token).rest;
  return (
    <article
      aria-label={purposeText(token)}
      className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-3"
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Link
          to="/e/$environmentId/tokens/$tokenId"
          params={{ environmentId: token.environment_id, tokenId: token.id }}
          className="min-w-0 font-medium break-words hover:underline"
        >
          <bdi>{purposeText(token)}</bdi>
        </Link>
        <Countdown at={token.timeout_at} />
      </div>
      {Object.keys(details).length > 0 && <JsonView value={details} label="the details of the question" />}
      <CompleteToken token={token} onOvertaken={onOvertaken} />
    </article>
  );
}
