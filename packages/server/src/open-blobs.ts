import { join } from "node:path";
import { createDiskBlobs } from "./adapters/disk-blobs.ts";
import { openS3Blobs } from "./adapters/s3-blobs.ts";
import { ConfigError, type Config } from "./config.ts";
import type { Blobs, BlobStore } from "./core/blobs/blob.ts";

/** Of so many environments, which is only memory: a store that is opened again does a little more at its first upload. */
const REMEMBERED_STORES = 1_000;

/** Where the bytes of an installation are: in the bucket, or in the data folder. @throws ConfigError when the bucket cannot be used. */
export async function openBlobs(config: Pick<Config, "s3" | "dataDir">): Promise<Blobs> {
  const inFolder = remember(await openStore(config));
  return {
    bundles: inFolder("blobs"),
    ofEnvironment: (environmentId) => inFolder(`workspaces/${environmentId}`),
  };
}

function remember(open: (folder: string) => BlobStore): (folder: string) => BlobStore {
  const stores = new Map<string, BlobStore>();
  return (folder) => {
    let store = stores.get(folder);
    if (store === undefined) {
      const [oldest] = stores.keys();
      if (oldest !== undefined && stores.size >= REMEMBERED_STORES) stores.delete(oldest);
      stores.set(folder, (store = open(folder)));
    }
    return store;
  };
}

async function openStore({
  s3,
  dataDir,
}: Pick<Config, "s3" | "dataDir">): Promise<(folder: string) => BlobStore> {
  if (s3 === null) return (folder) => createDiskBlobs(join(dataDir, folder));
  try {
    return await openS3Blobs(s3);
  } catch (cause) {
    throw new ConfigError((cause as Error).message, { cause });
  }
}
