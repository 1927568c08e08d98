import { setTimeout as sleep } from "node:timers/promises";
import { startSseReaders, type SseLatencies } from "../harness/sse-readers.ts";
import type { Keelson } from "../ours/keelson.ts";
import { createAppender, openStream } from "../ours/session.ts";

/**
 * P7: from the instant before a record's append is sent until a reader has its event, at `perSecond` appends. Every reader
 * must get every record.
 */
export async function measureStreamFollow(
  keelson: Keelson,
  readers: number,
  records: number,
  perSecond: number,
): Promise<SseLatencies> {
  const { appendPath, readPath } = await openStream(keelson);
  const headers = { authorization: `Bearer ${keelson.apiKey}` };
  const followers = startSseReaders({
    port: keelson.port,
    path: readPath,
    headers,
    readers,
    events: records,
  });
  const appender = createAppender(keelson, appendPath);
  try {
    await followers.opened;
    const startedAt = performance.now();
    const sent: Promise<void>[] = [];
    for (let n = 0; n < records; n += 1) {
      const waitMs = startedAt + (n * 1000) / perSecond - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      sent.push(appender.append(`{"data":{"at":${process.hrtime.bigint()}}}`));
    }
    await Promise.all(sent);
    const latencies = await followers.finished(30_000);
    if (latencies.events < readers * records)
      throw new Error(`${readers} readers of ${records} records got ${latencies.events} events`);
    return latencies;
  } finally {
    appender.close();
    await followers.stop();
  }
}
