import { encodeId, sseFrame, type Uuid } from "@keelson/contract";
import { findDeploymentStatus, listDeploymentEvents } from "../../../core/deployments/deployment-reads.ts";
import type { FeedPage } from "../../../core/feeds/feed.ts";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { pageLimit, sequenceCursor, toPage } from "../../edge/page.ts";
import type { EnvironmentScope, Reply } from "../../edge/route.ts";
import { toDeploymentEvent } from "./wire.ts";

/** The events of a deployment, which is known to be there: a page after a cursor, or all as they come. */

export async function eventPage(
  db: Queryable,
  { environmentId }: EnvironmentScope,
  deploymentId: Uuid<"dep">,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const rows = await listDeploymentEvents(
    db,
    environmentId,
    deploymentId,
    sequenceCursor(query.cursor),
    limit + 1,
  );
  const page = toPage(rows, limit, (row) => String(row.sequence));
  return {
    status: 200,
    body: {
      events: page.rows.map((row) => toDeploymentEvent(deploymentId, row)),
      next_cursor: page.nextCursor,
    },
  };
}

/** Events a follower takes in one read. */
const EVENTS_PER_READ = 200;

/**
 * Follows the events of a deployment. One that failed will never have another, so its stream ends; the status is read
 * before the events, because the transaction that fails a deployment writes its last event too.
 */
export function followEvents(
  db: Queryable,
  { environmentId }: EnvironmentScope,
  deploymentId: Uuid<"dep">,
  after: number,
): Reply {
  const readPage = async (cursor: number): Promise<FeedPage<string>> => {
    const status = await findDeploymentStatus(db, environmentId, deploymentId);
    if (status === null) throw notFound();
    const rows = await listDeploymentEvents(db, environmentId, deploymentId, cursor, EVENTS_PER_READ);
    const frames = rows.map((row) =>
      sseFrame(
        "deployment_event",
        String(row.sequence),
        JSON.stringify(toDeploymentEvent(deploymentId, row)),
      ),
    );
    const ended = status === "failed" && rows.length < EVENTS_PER_READ;
    return {
      batch: frames.length === 0 ? null : frames.join(""),
      cursor: rows.at(-1)?.sequence ?? cursor,
      end: ended ? { deployment_id: encodeId("dep", deploymentId), status } : undefined,
    };
  };
  const feed = {
    key: `deployment ${deploymentId}`,
    source: { kind: "deployment", environmentId, id: deploymentId } as const,
    wakeKey: wakeKeys.deployment(deploymentId),
    read: readPage,
  };
  return { status: 200, events: { feed, after } };
}
