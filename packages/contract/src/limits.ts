/** Bounds of the wire. Bytes unless the name says otherwise. */
export const LIMITS = {
  bodyBytes: 1024 * 1024,
  bundleBytes: 64 * 1024 * 1024,
  workerAppendBytes: 4 * 1024 * 1024,
  payloadBytes: 512 * 1024,
  outputBytes: 512 * 1024,
  metadataBytes: 16 * 1024,
  tags: 20,
  tagCharacters: 128,
  jsonDepth: 64,
  idempotencyKeyBytes: 255,
  batchStarts: 500,
  leaseBatch: 500,
  reportOperations: 1000,
  pageDefault: 50,
  pageMax: 200,
  logChunkBytes: 64 * 1024,
  snapshotLogBytes: 256 * 1024,
  sseConnectionsPerEnvironment: 1000,
  headerVersionCharacters: 128,
} as const;

/** A task, actor or sandbox id chosen by its author. */
export const DECLARED_ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";

/** A queue name; as a declared id, and `/` may separate parts. */
export const QUEUE_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$";

/** Text a person may have typed as an external id or concurrency key: no control characters. */
export const PRINTABLE_PATTERN = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$";
