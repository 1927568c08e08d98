import { ConflictError, type Client, type Deployment } from "@keelson/sdk";
import type { Bundle } from "./bundle/build-bundle.ts";
import type { readGit } from "./read-git.ts";
import { countOf } from "./terminal/count-of.ts";

/** Files that are sent at a time. */
const AT_ONCE = 6;
/** The server asks for the index, then for the files. Either may be dropped again before the creation, though hardly twice. */
const TRIES = 5;

export type UploadOptions = {
  signal: AbortSignal;
  /** Told what is done next. */
  progress: (text: string) => void;
};

/** What the server lacks, as it says itself when it is to make a deployment; null for any other refusal. */
function missingOf(error: unknown): { missing: Set<string>; noWorker: unknown } | null {
  if (!(error instanceof ConflictError) || error.code !== "bundle_missing") return null;
  const { missing, noWorker } = error.details ?? {};
  return Array.isArray(missing) ? { missing: new Set(missing.map(String)), noWorker } : null;
}

const SINCE_NO_WORKER = "Its runs wait until such a worker is there.";

const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1024)} KiB`;

async function upload(
  { deployments }: Client,
  { digest, index, files }: Bundle,
  missing: ReadonlySet<string>,
  { signal, progress }: UploadOptions,
): Promise<void> {
  // Only the server knows what else it lacks, and it reads that in the index.
  if (missing.has(digest)) return void (await deployments.uploadBundle(digest, index, { signal }));
  const wanted = new Map(
    files.filter((file) => missing.has(file.digest)).map((file) => [file.digest, file.bytes] as const),
  );
  const bytes = [...wanted.values()].reduce((sum, { length }) => sum + length, 0);
  const what =
    wanted.size === files.length
      ? countOf(files.length, "file")
      : `${wanted.size} of ${countOf(files.length, "file")}`;
  progress(`Uploading ${what}, ${kilobytes(bytes)} (${digest.slice(0, 12)})`);
  const left = wanted.entries();
  const sendNext = async (): Promise<void> => {
    for (const [key, content] of left) await deployments.uploadBundle(key, content, { signal });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendNext));
}

/**
 * Makes a deployment of a bundle. The server says what it lacks, and only that is sent: it alone knows what it keeps. It also
 * says when no worker can run the bundle, which a person is told before anything is sent.
 */
export async function createWithUploads(
  client: Client,
  bundle: Bundle,
  git: Awaited<ReturnType<typeof readGit>>,
  options: UploadOptions,
): Promise<Deployment> {
  const { signal, progress } = options;
  const { manifest, digest, nodeVersion, platform } = bundle;
  const wanted = { manifest, bundleDigest: digest, bundleFormatVersion: 2, nodeVersion, platform } as const;
  let isWarned = false;
  const warn = (noWorker: unknown): void => {
    if (isWarned || typeof noWorker !== "string") return;
    isWarned = true;
    progress(`warning: ${noWorker} ${SINCE_NO_WORKER}`);
  };
  for (let tries = 1; ; tries += 1) {
    try {
      const created = await client.deployments.create(
        { ...wanted, ...(git !== null && { git }) },
        { signal },
      );
      // Before its check, that is the only problem a deployment can have.
      warn(created.error?.message);
      return created;
    } catch (error) {
      const refusal = missingOf(error);
      if (refusal === null || tries === TRIES) throw error;
      warn(refusal.noWorker);
      await upload(client, bundle, refusal.missing, options);
    }
  }
}
