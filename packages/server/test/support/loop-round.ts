import { createLog } from "../../src/log.ts";
import type { Round } from "../../src/loops/loop.ts";

/** Of a server that does not stop. */
export const LOOP_ROUND: Round = { stopping: new AbortController().signal, log: createLog("silent") };
