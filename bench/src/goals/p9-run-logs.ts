import type { RunLogChunk, RunLogSnapshot } from "@keelson/contract";
import { machineNowMs, percentile } from "../harness/statistics.ts";
import { waitForEnd } from "../ours/api.ts";
import { LINE_BYTES } from "../ours/bundle.ts";
import type { Keelson } from "../ours/keelson.ts";

/**
 * P9: lines a second of one run that prints as fast as it may, from its first line until the run has ended, which is
 * after its last line is stored. Every byte is then read back by pages; a cut or lost line fails the measurement.
 * Expects an agent.
 */
export async function measureLogLines(keelson: Keelson, lines: number): Promise<number> {
  const { id } = await keelson.api.start("print-lines", { lines });
  const run = await waitForEnd(keelson.api, id, 60_000);
  const endedAtMs = machineNowMs();

  const { stdout_bytes: bytes } = await keelson.api.call<RunLogSnapshot>("GET", `/api/runs/${id}/logs`);
  if (bytes !== lines * LINE_BYTES)
    throw new Error(`${lines * LINE_BYTES} bytes were printed, and the log says ${bytes}`);
  const readBack = await countReadableLines(keelson, id);
  if (readBack !== lines) throw new Error(`${lines} lines were printed, and ${readBack} can be read`);
  const startedAtMs = Number(BigInt((run.output as { startedAtNs: string }).startedAtNs)) / 1e6;
  return (lines * 1000) / (endedAtMs - startedAtMs);
}

async function countReadableLines(keelson: Keelson, id: string): Promise<number> {
  let lines = 0;
  for (let cursor: string | null = "0"; cursor !== null;) {
    const page: { logs: RunLogChunk[]; next_cursor: string | null } = await keelson.api.call(
      "GET",
      `/v1/runs/${id}/logs?limit=200&cursor=${cursor}`,
    );
    for (const { data } of page.logs)
      for (const byte of Buffer.from(data, "base64")) if (byte === 10) lines += 1;
    cursor = page.next_cursor;
  }
  return lines;
}

/** P9: from a line's writing until a follower of the run's log has it, p99 in milliseconds, at 100 lines a second. */
export async function measureLogFollower(keelson: Keelson, lines: number): Promise<number> {
  const { id } = await keelson.api.start("print-slowly", { lines, intervalMs: 10 });
  const response = await fetch(`${keelson.url}/api/runs/${id}/logs?follow=1`, {
    headers: { authorization: `Bearer ${keelson.apiKey}`, accept: "text/event-stream" },
    signal: AbortSignal.timeout(lines * 10 + 30_000),
  });
  if (!response.ok || response.body === null)
    throw new Error(`following a log was answered ${response.status}`);
  const latencies: number[] = [];
  let rest = "";
  for await (const frame of framesOf(response.body)) {
    const nowMs = machineNowMs();
    if (!/^event: run_log$/m.test(frame)) continue;
    const chunk = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "") as RunLogChunk;
    const text = (rest + Buffer.from(chunk.data, "base64").toString()).split("\n");
    rest = text.pop() ?? "";
    for (const line of text) latencies.push(nowMs - Number(BigInt(line.slice(3))) / 1e6);
  }
  if (latencies.length !== lines)
    throw new Error(`${lines} lines were printed, and the follower got ${latencies.length}`);
  return percentile(latencies, 0.99);
}

/** The frames of an event stream until it ends. */
async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const bytes of body) {
    held += decoder.decode(bytes, { stream: true });
    const frames = held.split("\n\n");
    held = frames.pop() ?? "";
    yield* frames;
  }
}
