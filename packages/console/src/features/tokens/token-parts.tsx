import type { Token } from "@keelson/contract";
import { Link, useParams } from "@tanstack/react-router";
import { Hourglass } from "lucide-react";
import type { ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getRun } from "../../api/routes/runs.ts";
import { pageAddress } from "../../app/navigation.ts";
import { Badge } from "../../ui/badge.tsx";
import { describeAge } from "../../ui/describe-time.ts";
import { absoluteTime, useNow } from "../../ui/time.tsx";
import { visibleText } from "../../ui/visible-text.ts";
import { purposeOf } from "./completion-form.ts";

const SOON_MS = 5 * 60_000;

/** What the token is for, as its maker says; its id when they do not. */
export const purposeText = (token: Token): string => visibleText(purposeOf(token).purpose ?? token.id);

/** How long it can still be completed. */
export function Countdown({ at }: { at: string }): ReactNode {
  const left = Date.parse(at) - useNow();
  return (
    <span title={absoluteTime(at)}>
      <Badge tone={left < SOON_MS ? "warn" : "neutral"}>
        <Hourglass size={12} aria-hidden />
        {left <= 0 ? "expiring" : `expires ${describeAge(left)}`}
      </Badge>
    </span>
  );
}

/** The run that made the token and waits for it, with its task and its session. */
export function Waiter({ token }: { token: Token }): ReactNode {
  const { environmentId } = useParams({ from: "/signed-in/e/$environmentId" });
  const { data: run } = useItem(at(getRun, { id: token.run_id ?? "" }), {
    enabled: token.run_id !== null,
  });
  if (token.run_id === null) return <span>Created through the API</span>;
  const link = "text-accent hover:underline";
  return (
    <span className="inline-flex flex-wrap gap-x-2">
      <span>
        {run?.pending_wait?.token_id === token.id ? "Waits: " : "Made by "}
        <Link to={pageAddress(`/e/${environmentId}/runs`, token.run_id)} className={link}>
          {run === undefined ? token.run_id : `run of ${run.task ?? run.actor ?? ""}`}
        </Link>
      </span>
      {run !== undefined && run.session_id !== null && (
        <Link
          to="/e/$environmentId/sessions/$sessionId"
          params={{ environmentId, sessionId: run.session_id }}
          className={link}
        >
          its session
        </Link>
      )}
    </span>
  );
}
