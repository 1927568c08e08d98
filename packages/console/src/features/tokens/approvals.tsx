import type { Session, Token } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getRun } from "../../api/routes/runs.ts";
import { getToken, listTokens } from "../../api/routes/tokens.ts";
import { CompleteToken } from "./complete-token.tsx";
import { Overtaken } from "./outcome.tsx";
import { Countdown, purposeText } from "./token-parts.tsx";

const MAX_SHOWN = 5;

/** What the session's run has asked for and nobody has answered, to be answered here. */
export function Approvals({ session }: { session: Session }): ReactNode {
  const { current_run_id: runId } = session;
  const [overtaken, setOvertaken] = useState<Token | null>(null);
  const run = useItem(at(getRun, { id: runId }), { refetchMs: 2000 });
  const made = useItem(listTokens, {
    query: { status: "pending", run_id: runId, order: "oldest", limit: MAX_SHOWN },
    refetchMs: 2000,
  });
  const awaitedId = run.data?.pending_wait?.token_id ?? null;
  const isMadeHere = made.data?.tokens.some(({ id }) => id === awaitedId) === true;
  const awaited = useItem(at(getToken, { id: awaitedId ?? "" }), {
    enabled: awaitedId !== null && made.data !== undefined && !isMadeHere,
  });
  const elsewhere = awaited.data?.status === "pending" && awaited.data.id === awaitedId ? [awaited.data] : [];
  const pending = [...(isMadeHere ? [] : elsewhere), ...(made.data?.tokens ?? [])];
  if (pending.length === 0 && overtaken === null) return null;
  return (
    <div
      role="region"
      aria-label="Waiting for a decision"
      className="flex max-h-[45%] flex-col gap-2 overflow-y-auto border-t border-line bg-warn-ground p-3"
    >
      {overtaken !== null && <Overtaken token={overtaken} onDismiss={() => setOvertaken(null)} />}
      {pending.map((token) => (
        <div key={token.id} className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-3">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <Link
              to="/e/$environmentId/tokens/$tokenId"
              params={{ environmentId: session.environment_id, tokenId: token.id }}
              className="min-w-0 font-medium break-words hover:underline"
            >
              <bdi>{purposeText(token)}</bdi>
            </Link>
            <Countdown at={token.timeout_at} />
          </div>
          <CompleteToken token={token} onOvertaken={setOvertaken} />
        </div>
      ))}
    </div>
  );
}
