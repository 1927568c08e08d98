import type { StartedActor } from "@keelson/contract";
import { startSseReaders, type SseLatencies } from "../harness/sse-readers.ts";
import type { Keelson } from "../ours/keelson.ts";

/**
 * P7, as a chat has it: from the instant in which a run's code has a piece of its answer until a reader has its event, at
 * `perSecond` pieces. Every reader must get every piece. Expects an agent.
 */
export async function measureRunOutput(
  keelson: Keelson,
  readers: number,
  pieces: number,
  perSecond: number,
): Promise<SseLatencies> {
  const { session } = await keelson.api.call<StartedActor>("POST", "/v1/actors/talks/start", {});
  const answer = (count: number): Promise<unknown> =>
    keelson.api.call("POST", `/v1/sessions/${session.id}/inputs`, {
      data: { pieces: count, everyMs: 1_000 / perSecond },
    });
  const followers = startSseReaders({
    port: keelson.port,
    path: `/api/sessions/${session.id}/outputs/output/read?follow=1`,
    headers: { authorization: `Bearer ${keelson.apiKey}` },
    ...{ readers, events: pieces },
  });
  try {
    await followers.opened;
    await answer(pieces);
    const latencies = await followers.finished(120_000);
    if (latencies.events < readers * pieces)
      throw new Error(`${readers} readers of ${pieces} pieces got ${latencies.events} events`);
    return latencies;
  } finally {
    await followers.stop();
  }
}
