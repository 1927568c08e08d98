import type { RunLogChunk } from "@keelson/contract";
import { follow } from "../../api/client.ts";
import type { Place } from "../../api/place.ts";
import { at } from "../../api/route.ts";
import { getRunLogs } from "../../api/routes/runs.ts";
import { fromBase64 } from "./log-chunks.ts";
import type { LogStream } from "./line-store.ts";

/** So many chunks become one blob, which the browser may keep outside its memory. */
const CHUNKS_PER_BLOB = 256;
const REVOKE_MS = 60_000;

/** Saves the bytes as they were written, up to the chunk `until`: read again, as what is shown is no longer them. */
export async function downloadLog(
  runId: string,
  place: Place,
  { until, stream }: { until: number; stream: LogStream | null },
): Promise<void> {
  const blobs: Blob[] = [];
  let parts: Uint8Array<ArrayBuffer>[] = [];
  if (until > 0)
    for await (const { event, data } of follow(at(getRunLogs, { id: runId }), place, {
      onGap: () => undefined,
    })) {
      if (event !== "run_log") break;
      const chunk = data as RunLogChunk;
      if (stream === null || chunk.stream === stream) parts.push(fromBase64(chunk.data));
      if (parts.length >= CHUNKS_PER_BLOB) {
        blobs.push(new Blob(parts));
        parts = [];
      }
      if (Number(chunk.id) >= until) break;
    }
  const address = URL.createObjectURL(new Blob([...blobs, ...parts], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${runId}${stream === null ? "" : `-${stream}`}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), REVOKE_MS);
}
