import type { Clock } from "./clock.ts";
import type { DeploymentCache } from "./core/entrypoints/deployment-cache.ts";
import type { LeasePolls } from "./core/executions/lease-polls.ts";
import type { FeedPage } from "./core/feeds/follow-feed.ts";
import type { Wakes } from "./core/feeds/wakes.ts";
import type { RunStarter } from "./core/runs/start-runs.ts";
import type { BlobStore } from "./core/blobs/blob.ts";
import type { Database } from "./db/pool.ts";
import type { Metrics } from "./http/metrics.ts";
import type { Readiness } from "./http/readiness.ts";
import type { NewUuid } from "./uuid.ts";

/** What every handler and loop is given; made once by the composition root. */
export type ServerContext = {
  db: Database;
  clock: Clock;
  newUuid: NewUuid;
  random: () => number;
  wakes: Wakes;
  leasePolls: LeasePolls;
  runStarter: RunStarter;
  deployments: DeploymentCache;
  blobs: BlobStore;
  leaseDurationMs: number;
  readiness: Readiness;
  metrics: Metrics;
  /** The OpenAPI document of all routes, made when it is first asked for. */
  openApiJson: () => string;
  /** Followers at the same place of a feed share one read and its encoded frames. */
  shareFeedRead: (key: string, read: () => Promise<FeedPage<string>>) => Promise<FeedPage<string>>;
};
