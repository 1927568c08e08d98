import { countIndexBuilds } from "../core/system/watch-reads.ts";
import { buildIndexes } from "../db/index-builds.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

const INTERVAL_MS = 30_000;
/** After a build that failed: as many times as long as it took, and this at least. One that fills the disk is not begun over and over. */
const REST_FACTOR = 9;
const LEAST_REST_MS = 60_000;

/** Builds the indexes that migrations ask for. Every replica looks for them, and one builds at a time. */
export const indexBuildLoops = ({ db }: { db: Database }): LoopWork[] => {
  let restUntil = 0;
  return [
    {
      name: "build-indexes",
      intervalMs: INTERVAL_MS,
      run: async ({ stopping, log }) => {
        const begun = performance.now();
        if (begun < restUntil || (await countIndexBuilds(db)) === 0) return;
        try {
          await buildIndexes(db.directUrl, stopping, {
            building: (name) => log.info({ index: name }, "building an index beside the work"),
            built: (name) => log.info({ index: name }, "index built"),
          });
        } catch (error) {
          const now = performance.now();
          restUntil = now + Math.max(LEAST_REST_MS, (now - begun) * REST_FACTOR);
          throw error;
        }
      },
    },
  ];
};
