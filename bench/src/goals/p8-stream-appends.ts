import type { Stream } from "@keelson/contract";
import { CONNECTIONS } from "../floors/f4-bare-http.ts";
import { runHttpLoad } from "../harness/http-load.ts";
import type { Keelson } from "../ours/keelson.ts";
import { openStream } from "../ours/session.ts";

/** So that a record's data is 256 bytes of JSON. */
const DATA = "x".repeat(254);
const BATCH = 100;

/**
 * P8: records a second appended to one stream, by 64 appenders of one record each, or by 4 of a hundred. Afterwards the
 * stream must be exactly as long as was acknowledged.
 */
export async function measureStreamAppends(
  keelson: Keelson,
  durationMs: number,
  kind: "single" | "batched",
): Promise<number> {
  const { appendPath } = await openStream(keelson);
  const record = { data: DATA };
  const perRequest = kind === "single" ? 1 : BATCH;
  const load = {
    port: keelson.port,
    path: appendPath,
    headers: { authorization: `Bearer ${keelson.apiKey}` },
    body: JSON.stringify(
      kind === "single" ? record : { records: Array.from({ length: BATCH }, () => record) },
    ),
    connections: kind === "single" ? CONNECTIONS : 4,
    durationMs,
  };
  const warm = await runHttpLoad({ ...load, durationMs: 500 });
  const { acknowledged, perSecond } = await runHttpLoad(load);
  const expected = (warm.acknowledged + acknowledged) * perRequest;
  const { streams } = await keelson.api.call<{ streams: Stream[] }>(
    "GET",
    appendPath.replace(/outputs\/measured$/, "streams"),
  );
  const stored = streams.find(({ name }) => name === "measured")?.last_sequence;
  if (stored !== expected) throw new Error(`${expected} records were acknowledged, and ${stored} are stored`);
  return perSecond * perRequest;
}
