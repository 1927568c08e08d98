import { LIMITS } from "@keelson/contract";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { isOver } from "../core/processes/processes.ts";
import {
  listOutputs,
  type ProcessKey,
  type ProcessRow,
  type StoredStream,
} from "../core/processes/process-reads.ts";
import type { ServerContext } from "../server-context.ts";
import { requireProcess } from "./process-answers.ts";
import type { Reply } from "./route.ts";
import { toExecResult } from "./wire/process.ts";

/** How a command ended, with what it wrote: for callers of /v1, and for runs by their worker. */

const MAX_TIMEOUT_MS = 600_000;
/** A workspace that is on no machine has to be put on one first; the exec's own time begins when it is started. */
const MAX_START_MS = 60_000;
const SAFETY_READ_MS = 2_000;

/** The last bytes of an output, up to the bound: what a command said at its end is what tells. */
async function lastOutput(server: ServerContext, process: ProcessRow, stream: StoredStream): Promise<Buffer> {
  const total = stream === "stdout" ? process.stdoutBytes : process.stderrBytes;
  const from = Math.max(0, total - LIMITS.execOutputBytes);
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

export async function answerResult(server: ServerContext, process: ProcessRow): Promise<Reply> {
  const [stdout, stderr] = await Promise.all([
    lastOutput(server, process, "stdout"),
    lastOutput(server, process, "stderr"),
  ]);
  return { status: 200, body: toExecResult(process, stdout, stderr) };
}

const latestEnd = (process: ProcessRow, begun: number): number =>
  process.startedAt === null
    ? begun + MAX_START_MS
    : process.startedAt + (process.timeoutMs ?? MAX_TIMEOUT_MS) + MAX_START_MS;

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
  for (;;) {
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    // Registered before the read: what changes during it wakes this again.
    const leftMs = maxWaitMs === null ? SAFETY_READ_MS : begun + maxWaitMs - server.clock();
    const pauseMs = Math.max(0, Math.min(SAFETY_READ_MS, leftMs));
    const woken = server.wakes.wait(wakeKeys.process(key.id), pauseMs, until);
    try {
      const process = await requireProcess(server, key);
      const deadline = maxWaitMs === null ? latestEnd(process, begun) : begun + maxWaitMs;
      if (isOver(process.status) || signal.aborted || server.clock() >= deadline) return process;
      await woken;
    } finally {
      ended.abort();
    }
  }
}
