import { countIndexBuilds } from "../core/system/watch-reads.ts";
import { buildIndexes } from "../db/index-builds.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

const INTERVAL_MS = 30_000;
/** A build that fails after an hour, as on a full disk, is not begun again before ten. */
const BUILD_SHARE = 0.1;

/** Builds the indexes that migrations ask for. Every replica looks for them, and one builds at a time. */
export const indexBuildLoops = ({ db }: { db: Database }): LoopWork[] => [
  {
    name: "build-indexes",
    intervalMs: INTERVAL_MS,
    maxShare: BUILD_SHARE,
    run: async ({ stopping, log }) => {
      if ((await countIndexBuilds(db)) === 0) return;
      await buildIndexes(db.directUrl, stopping, {
        building: (name) => log.info({ index: name }, "building an index beside the work"),
        built: (name) => log.info({ index: name }, "index built"),
      });
    },
  },
];
