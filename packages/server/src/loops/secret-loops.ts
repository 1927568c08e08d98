import type { Clock } from "../clock.ts";
import { forgetVersions } from "../core/secrets/forget-versions.ts";
import type { Database } from "../db/pool.ts";
import type { LoopWork } from "./loop.ts";

/** Keeps no value longer than somebody may need it. */
export const secretLoops = ({ db, clock }: { db: Database; clock: Clock }): LoopWork[] => [
  {
    name: "forget-secret-versions",
    intervalMs: 60_000,
    needs: "settled-time",
    run: () => forgetVersions(db, clock()),
  },
];
