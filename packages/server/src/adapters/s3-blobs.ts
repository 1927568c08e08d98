import { createHash } from "node:crypto";
import type * as S3Package from "@aws-sdk/client-s3";
import type { BlobStore } from "../core/blobs/blob.ts";
import { DomainError } from "../domain-error.ts";
import { damaged, overLimit, requireDigest, wrongDigest } from "./blob-refusals.ts";

export type S3Options = {
  bucket: string;
  /** null: AWS. Else a store whose buckets are part of the path. */
  endpoint: string | null;
  region: string;
  /** Empty, or ending in `/`. */
  prefix: string;
  /** null: as AWS tools find them. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | null;
};

type S3 = typeof S3Package;
type Bucket = { s3: S3; client: S3Package.S3Client; name: string; prefix: string };

const PACKAGE = "@aws-sdk/client-s3";
const CONNECT_TIMEOUT_MS = 5_000;
/** Until the store begins to answer. */
const REQUEST_TIMEOUT_MS = 60_000;
/** With pauses that double: a store that is restarted, or asks for less at once, is waited for some seconds. */
const ATTEMPTS = 5;
/** A check that fails at the start is seen by the person who starts. */
const CHECK_ATTEMPTS = 2;

/**
 * Blobs in a bucket, one object for a blob, its key the folder and the digest. A blob is written in one PUT, which stores
 * all of it or nothing, and the store's own checksums are left out: not every store knows them, and every byte that is
 * given out is checked against the blob's digest here.
 *
 * @returns the store of a folder of the bucket.
 * @throws Error when the package is not installed or the bucket cannot be reached.
 */
export async function openS3Blobs(options: S3Options): Promise<(folder: string) => BlobStore> {
  const s3 = await loadPackage();
  const clientOf = (maxAttempts: number): S3Package.S3Client =>
    new s3.S3Client({
      region: options.region,
      ...(options.endpoint !== null && { endpoint: options.endpoint, forcePathStyle: true }),
      ...(options.credentials !== null && { credentials: options.credentials }),
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      maxAttempts,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        socketTimeout: REQUEST_TIMEOUT_MS,
        throwOnRequestTimeout: true,
      },
    });
  await checkBucket(s3, clientOf(CHECK_ATTEMPTS), options);
  const { bucket: name, prefix } = options;
  const client = clientOf(ATTEMPTS);
  return (folder) => createS3Blobs({ s3, client, name, prefix: `${prefix}${folder}/` });
}

async function loadPackage(): Promise<S3> {
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new Error(
      `S3_BUCKET is set, but the package ${PACKAGE} is not installed. Install it beside Keelson, or unset S3_BUCKET to keep blobs in the data folder.`,
      { cause },
    );
  }
}

async function checkBucket(
  s3: S3,
  client: S3Package.S3Client,
  { bucket, endpoint }: S3Options,
): Promise<void> {
  try {
    await client.send(new s3.HeadBucketCommand({ Bucket: bucket }));
  } catch (cause) {
    const place = endpoint === null ? "" : ` at ${endpoint}`;
    throw new Error(
      `The bucket ${bucket}${place} cannot be reached: ${reasonOf(cause)}. Check S3_BUCKET, S3_ENDPOINT, S3_REGION and the AWS credentials.`,
      { cause },
    );
  } finally {
    client.destroy();
  }
}

const statusOf = (error: unknown): number | null =>
  (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode ?? null;

/** The answer of a HEAD has no words. */
function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status === 404) return "there is no such bucket";
  if (status === 403) return "the credentials may not use it (403)";
  const { name, message } = error as Error;
  return status === null ? message || name : `it answered ${status}`;
}

/** How stores of one's own, such as MinIO, answer when their disks are full. */
const INSUFFICIENT_STORAGE = 507;

/** A blob that is not there is no failure; a store that does not answer is one that passes. */
async function ask<T>(asking: Promise<T>): Promise<T | null> {
  try {
    return await asking;
  } catch (error) {
    const status = statusOf(error);
    if (status === 404 && (error as Error).name !== "NoSuchBucket") return null;
    if (status !== null && status < 500 && status !== 429) throw error;
    if (status === INSUFFICIENT_STORAGE)
      throw new DomainError(
        "storage_full",
        "The blob store is full; nothing was written. Free space there, then try again.",
        { store: "blobs" },
        { cause: error },
      );
    throw new DomainError("unavailable", "The blob store does not answer. Try again.", null, {
      cause: error,
    });
  }
}

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function collect(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of bytes) {
    length += part.byteLength;
    if (length > maxBytes) throw overLimit(maxBytes);
    parts.push(new Uint8Array(part));
  }
  return Buffer.concat(parts, length);
}

function createS3Blobs({ s3, client, name, prefix }: Bucket): BlobStore {
  const at = (digest: string): { Bucket: string; Key: string } => ({
    Bucket: name,
    Key: `${prefix}${requireDigest(digest).slice(0, 2)}/${digest.slice(2)}`,
  });

  async function load(digest: string): Promise<Buffer | null> {
    const get = async (): Promise<Buffer> => {
      const { Body } = await client.send(new s3.GetObjectCommand(at(digest)));
      // The answer's body may break off as well, after its headers.
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    };
    return ask(get());
  }

  return {
    // Whole in memory, at most `maxBytes`: what is to be one PUT must be known to be right before it begins.
    put: async (digest, bytes, maxBytes) => {
      const place = at(digest);
      const content = await collect(bytes, maxBytes);
      const found = digestOf(content);
      if (found !== digest) throw wrongDigest(found, digest);
      const put = new s3.PutObjectCommand({ ...place, Body: content, ContentLength: content.length });
      if ((await ask(client.send(put))) === null)
        throw new Error(`The bucket ${name} is not there any more; the blob is not stored.`);
      return content.length;
    },
    has: async (digest) => (await ask(client.send(new s3.HeadObjectCommand(at(digest))))) !== null,
    read: async (digest) => {
      let content = await load(digest);
      // What was damaged on its way is whole the second time.
      if (content !== null && digestOf(content) !== digest) content = await load(digest);
      if (content === null) return null;
      const found = digestOf(content);
      if (found !== digest) throw damaged(digest, found);
      return { sizeBytes: content.length, bytes: once(content) };
    },
    load,
    remove: async (digest) => void (await ask(client.send(new s3.DeleteObjectCommand(at(digest))))),
  };
}

async function* once(content: Buffer): AsyncGenerator<Uint8Array> {
  if (content.length > 0) yield content;
}
