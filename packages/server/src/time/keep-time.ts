import type { Logger } from "pino";
import type { Queryable } from "../db/queryable.ts";
import { readTime } from "../db/read-time.ts";
import { createTimekeeper, type Timekeeper } from "./timekeeper.ts";

/** Keeps PostgreSQL's time, and says in the log what goes wrong with it. Whoever hears PostgreSQL has to pass it on. */
export const keepTime = async (db: Queryable, log: Logger): Promise<Timekeeper> =>
  createTimekeeper({
    first: await readTime(db),
    onGap: (ms) =>
      log.warn(
        { ms: Math.round(ms) },
        "this server or PostgreSQL was away; leases are watched for their whole time again before one is taken for lost",
      ),
    onStep: (byMs) =>
      log.warn(
        { byMs: Math.round(byMs) },
        "PostgreSQL's clock was set, or this machine slept; nothing is deleted by age before its time has stood for an hour",
      ),
    onWallClock: (aheadMs, isWrong) => {
      log.warn(
        { aheadMs: Math.round(aheadMs) },
        isWrong
          ? "this machine's clock differs from PostgreSQL's, which is followed; synchronize both"
          : "this machine's clock agrees with PostgreSQL's again",
      );
    },
  });
