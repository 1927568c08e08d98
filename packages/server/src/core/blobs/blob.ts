import type { Uuid } from "@keelson/contract";

/**
 * Bytes under their SHA-256. A blob is written once and never changed; it is there whole or not at all.
 * The bytes are in a folder or in object storage; the database says who may see them.
 */
export type Blob = { sizeBytes: number; bytes: AsyncIterable<Uint8Array> };

export type BlobStore = {
  /**
   * Stores the bytes under their digest and returns how many they are. Durable when it resolves; a repeat is harmless.
   * A chunk is not used any more once the next one is asked for.
   *
   * @param digest SHA-256, lower-case hexadecimal; what the bytes must be.
   * @throws DomainError `invalid_request` when they have another digest, `payload_too_large` past `maxBytes`,
   * `storage_full` when there is no room.
   */
  put(digest: string, bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<number>;
  has(digest: string): Promise<boolean>;
  /**
   * Null when it is not there.
   *
   * @throws Error when the stored bytes no longer have the digest. No wrong byte is ever given out.
   */
  read(digest: string): Promise<Blob | null>;
  /** All of it in memory and unchecked, for callers that check the digest themselves. Null when it is not there. */
  load(digest: string): Promise<Buffer | null>;
  /** Removes it; harmless when it is not there. */
  remove(digest: string): Promise<void>;
};

/** The stores of an installation: of bundles, and of each environment's own blobs. */
export type Blobs = { bundles: BlobStore; ofEnvironment: (environmentId: Uuid<"env">) => BlobStore };
