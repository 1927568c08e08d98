import type { ReactNode } from "react";
import { at } from "../../api/route.ts";
import { getSessionState } from "../../api/routes/sessions.ts";
import { useItem } from "../../api/use-item.ts";
import { EnvironmentLink, TEXT_LINK } from "../../app/environment-link.tsx";
import { Async } from "../../ui/async.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Time } from "../../ui/time.tsx";

/** What the session remembers between its turns, with its version, when it was set, and by which run. */
export function SessionState({ sessionId }: { sessionId: string }): ReactNode {
  const result = useItem(at(getSessionState, { id: sessionId }), { refetchMs: 2000 });
  return (
    <Async result={result}>
      {({ state, version, updated_at: updatedAt, run_id: runId, source }) =>
        version === 0 ? (
          <p className="text-xs text-quiet">
            No state yet. The actor sets it with <code>session.state.set()</code>.
          </p>
        ) : (
          <div className="flex flex-col gap-1">
            <p className="flex justify-between gap-2 text-xs text-quiet">
              <span>
                Version {version}, set by{" "}
                {runId === null ? (
                  source?.id
                ) : (
                  <EnvironmentLink to={`runs/${runId}`} className={TEXT_LINK}>
                    a run
                  </EnvironmentLink>
                )}
              </span>
              <Time at={updatedAt} />
            </p>
            <JsonView value={state} label="the state" />
          </div>
        )
      }
    </Async>
  );
}
