import type { AppendRecords, StreamRecord } from "@keelson/contract";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";

/** A record of a stream, its data as the caller knows it. */
export type RecordOf<Data> = Omit<StreamRecord, "data"> & {
  /** What was appended. */
  data: Data;
};

/** A record as it is sent. */
export type NewRecord = {
  /** Any JSON, up to 256 KiB. */
  data: unknown;
  /** A media type that says how `data` is meant. */
  contentType?: string;
  /** Ties the records of one exchange together. */
  correlationId?: string;
};

/** How records are appended together. */
export type AppendBatchCallOptions = CallOptions & {
  /** Which stream. Default `input` for what is sent, `output` for what is appended. */
  stream?: string;
  /** A second append with the same key and records gives the first one's. Without a key one whose answer is lost is not repeated. */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

/** Options of an append of one record. */
export type AppendCallOptions = AppendBatchCallOptions & Omit<NewRecord, "data">;

type KeyOptions = Pick<AppendBatchCallOptions, "idempotencyKey" | "idempotencyKeyTtl">;

const toWireKey = ({ idempotencyKey, idempotencyKeyTtl }: KeyOptions) => ({
  ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  ...(idempotencyKeyTtl !== undefined && {
    idempotency_key_ttl: toWireDuration(idempotencyKeyTtl, "idempotencyKeyTtl"),
  }),
});

/** JSON has no undefined: a record without data has null. */
const toWireRecord = ({ data, contentType, correlationId }: NewRecord) => ({
  data: data === undefined ? null : data,
  ...(contentType !== undefined && { content_type: contentType }),
  ...(correlationId !== undefined && { correlation_id: correlationId }),
});

const append = <T>(
  transport: Transport,
  path: string,
  body: AppendRecords,
  options: AppendBatchCallOptions,
): Promise<T> =>
  transport.request<T>({
    method: "POST",
    path,
    // In the body: a page of another origin needs no further header for it.
    body: { json: body },
    repeatable: options.idempotencyKey !== undefined,
    ...callOptions(options),
  });

export const appendRecord = (
  transport: Transport,
  path: string,
  data: unknown,
  options: AppendCallOptions,
): Promise<StreamRecord> =>
  append(transport, path, { ...toWireRecord({ ...options, data }), ...toWireKey(options) }, options);

/** Appends all or none, at most 500. */
export async function appendRecords(
  transport: Transport,
  path: string,
  records: readonly NewRecord[],
  options: AppendBatchCallOptions,
): Promise<StreamRecord[]> {
  const body = { records: records.map(toWireRecord), ...toWireKey(options) };
  return (await append<{ records: StreamRecord[] }>(transport, path, body, options)).records;
}
