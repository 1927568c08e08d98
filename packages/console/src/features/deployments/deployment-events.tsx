import type { DeploymentEvent } from "@keelson/contract";
import { useState, type ReactNode } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { usePlace } from "../../api/place.ts";
import { useFollow } from "../../api/use-follow.ts";
import { at } from "../../api/route.ts";
import { listDeploymentEvents } from "../../api/routes/deployments.ts";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Time } from "../../ui/time.tsx";

/** What happened to a version, as it happens: its check by a worker, its promotions. */
export function DeploymentEvents({ deploymentId }: { deploymentId: string }): ReactNode {
  const [events, setEvents] = useState<readonly DeploymentEvent[]>([]);
  const { environment_id: environmentId } = usePlace();
  const queries = useQueryClient();
  const { state, error } = useFollow(at(listDeploymentEvents, { id: deploymentId }), {
    onEvents: (came) => {
      const more = came.flatMap(({ event, data }) =>
        event === "deployment_event" ? [data as DeploymentEvent] : [],
      );
      if (more.length === 0) return;
      setEvents((before) => [...before, ...more]);
      void queries.invalidateQueries({ queryKey: ["e", environmentId] });
    },
  });
  if (state === "failed") return <ErrorPanel error={error} />;
  return (
    <ol aria-label="Events" className="flex flex-col gap-1">
      {events.map(({ id, kind, message, at }) => (
        <li key={id} className="flex flex-wrap items-baseline gap-x-3">
          <span className="w-24 shrink-0 text-xs text-quiet">
            <Time at={at} />
          </span>
          <code className="font-mono text-xs">{kind}</code>
          <span className="text-quiet">{message}</span>
        </li>
      ))}
      {events.length === 0 && <li className="text-quiet">No events yet.</li>}
    </ol>
  );
}
