import type { BlobSink, BlobSource } from "@keelson/workspace-tree";
import { ServiceError } from "../protocol/service-error.ts";
import type { WorkerClient } from "../protocol/worker-client.ts";
import type { Random } from "../random.ts";
import type { BlobCache } from "./blob-cache.ts";
import { insist } from "./insist.ts";
import type { Turns } from "./turns.ts";

/** Below this, sending bytes that are there already costs less than asking. */
const ASK_FROM_BYTES = 64 * 1024;

export type RemoteBlobsOptions = {
  client: WorkerClient;
  environmentId: string;
  cache: BlobCache;
  /** Transfers of all workspaces: they share the connections with everything else. */
  transfers: Turns;
  random: Random;
  signal: AbortSignal;
};

/**
 * The blobs of an environment at the server. What was fetched is cached; nothing that is given is trusted by the tree
 * engine, which checks every digest.
 */
export function openRemoteBlobs(options: RemoteBlobsOptions): BlobSource & BlobSink {
  const { client, cache, transfers, random, signal } = options;
  const routeOf = (digest: string): string =>
    `blobs/${digest}?environment_id=${encodeURIComponent(options.environmentId)}`;
  // A turn for each try: what waits for room at the server holds up nobody who reads.
  const call = <T>(work: () => Promise<T>): Promise<T> =>
    insist(() => transfers.take(work, signal), { random, signal });

  return {
    get: async (digest) => {
      const held = await cache.get(digest);
      if (held !== null) return held;
      try {
        const bytes = await call(() => client.download(routeOf(digest), { signal }));
        await cache.put(digest, bytes);
        return bytes;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.status === 404) return null;
        throw new Error(`The server does not give out the blob ${digest}: ${error.message}`, {
          cause: error,
        });
      }
    },
    put: (digest, bytes) =>
      call(async () => {
        if (bytes.byteLength >= ASK_FROM_BYTES && (await client.exists(routeOf(digest), { signal }))) return;
        await client.upload(routeOf(digest), bytes, { signal });
      }),
  };
}
