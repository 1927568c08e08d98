import { LIMITS } from "@keelson/contract";
import { waitUntil } from "../../../core/feeds/wait-until.ts";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import { isOver } from "../../../core/processes/processes.ts";
import {
  listOutputs,
  type ProcessKey,
  type ProcessRow,
  type StoredStream,
} from "../../../core/processes/process-reads.ts";
import type { ServerContext } from "../../../server-context.ts";
import { requireProcess } from "./operate-process.ts";
import type { Reply, ReplyHeaders } from "../../edge/route.ts";
import { toExecResult } from "./wire.ts";

/** How a command ended, with what it wrote: for callers of /v1, and for runs by their worker. */

const MAX_TIMEOUT_MS = 600_000;
/** A workspace that is on no machine has to be put on one first; the exec's own time begins when it is started. */
const MAX_START_MS = 60_000;

/** The last bytes of an output, up to the bound: what a command said at its end is what tells. */
async function lastOutput(server: ServerContext, process: ProcessRow, stream: StoredStream): Promise<Buffer> {
  const total = stream === "stdout" ? process.stdoutBytes : process.stderrBytes;
  const base = stream === "stdout" ? process.stdoutBase : process.stderrBase;
  const from = Math.max(base, total - LIMITS.execOutputBytes);
  const parts: Buffer[] = [];
  for (let at = from; at < total;) {
    const chunks = await listOutputs(server.db, process, stream, at, LIMITS.pageMax, LIMITS.execOutputBytes);
    if (chunks.length === 0) break;
    for (const { position, data } of chunks) {
      parts.push(data);
      at = position + data.length;
    }
  }
  return Buffer.concat(parts);
}

export async function resultReply(
  server: ServerContext,
  process: ProcessRow,
  headers: ReplyHeaders = {},
): Promise<Reply> {
  const [stdout, stderr] = await Promise.all([
    lastOutput(server, process, "stdout"),
    lastOutput(server, process, "stderr"),
  ]);
  return { status: 200, body: toExecResult(process, stdout, stderr), headers };
}

/** Milliseconds from then. */
const latestEnd = (process: ProcessRow, begun: number): number =>
  process.startedAt === null
    ? MAX_START_MS
    : process.startedAt - begun + (process.timeoutMs ?? MAX_TIMEOUT_MS) + MAX_START_MS;

/**
 * The process once it has ended, or as it is after `maxWaitMs`. Its worker ends it at its timeout; without a bound the
 * wait for a worker is what is bounded.
 */
export async function waitForEnd(
  server: ServerContext,
  key: ProcessKey,
  signal: AbortSignal,
  maxWaitMs: number | null = null,
): Promise<ProcessRow> {
  const begun = server.clock();
  return waitUntil(
    server,
    wakeKeys.process(key.id),
    () => requireProcess(server.db, key),
    ({ status }) => isOver(status),
    { waitMs: maxWaitMs ?? ((process) => latestEnd(process, begun)), signal },
  );
}
