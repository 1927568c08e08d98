import type { Session, Token } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getRun } from "../../api/routes/runs.ts";
import { AskedToken } from "./asked-token.tsx";
import { Overtaken } from "./outcome.tsx";
import { useAskedTokens } from "./use-asked-tokens.ts";

/** What the session's run has asked for and nobody has answered, to be answered here. */
export function Approvals({ session }: { session: Session }): ReactNode {
  const { current_run_id: runId } = session;
  const [overtaken, setOvertaken] = useState<Token | null>(null);
  const run = useItem(at(getRun, { id: runId }), { refetchMs: 2000 });
  const pending = useAskedTokens(runId, run.data);
  if (pending.length === 0 && overtaken === null) return null;
  return (
    <div
      role="region"
      aria-label="Waiting for a decision"
      className="flex max-h-[45%] flex-col gap-2 overflow-y-auto border-t border-line bg-warn-ground p-3"
    >
      {overtaken !== null && <Overtaken token={overtaken} onDismiss={() => setOvertaken(null)} />}
      {pending.map((token) => (
        <AskedToken key={token.id} token={token} onOvertaken={setOvertaken} />
      ))}
    </div>
  );
}
