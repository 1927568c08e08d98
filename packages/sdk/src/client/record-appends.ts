import type * as Wire from "@keelson/contract";
import type { SendRecords, WhileBusy } from "@keelson/contract";
import type { SentRecord, StreamRecord } from "./resources.ts";
import type { JsonOf } from "../json-type.ts";
import type { CamelCased, Shape } from "./camel-cased.ts";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import type { KeyOptions } from "./automatic-key.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { sentRecordShape, streamRecordShape } from "./wire-shapes.ts";

/** A record of a stream, its data as the caller knows it. */
export type RecordOf<Data> = Omit<StreamRecord, "data"> & {
  /** The data of the record. */
  data: JsonOf<Data>;
};

/** A record as it is sent. */
export type NewRecord<Data = unknown> = {
  /** Any JSON, up to 256 KiB. */
  data: Data;
  /** A media type that says how `data` is meant. */
  contentType?: string;
  /** Ties the records of one exchange together. */
  correlationId?: string;
};

/** How records are appended together. */
export type AppendBatchCallOptions = CallOptions & {
  /** The stream. Default `input` for `send`, `output` for `append`. */
  stream?: string;
  /**
   * A second append with the same key and records gives the first one's. Default: what is sent has a key of its own, so
   * that a lost answer is asked for again; an append to an output is not repeated without one.
   */
  idempotencyKey?: string;
  /** How long the key is remembered, up to 30 days. Default 24 h. */
  idempotencyKeyTtl?: DurationInput;
};

/** Options of an append of one record. */
export type AppendCallOptions = AppendBatchCallOptions & Omit<NewRecord, "data">;

/** What an input does when a turn is live and no run waits for it. */
export type BusyOptions = {
  /**
   * `"enqueue"` appends the input, which the run or the next turn receives. `"interrupt"` also stops the messages that the turn is writing.
   * `"steer"` appends it and marks it as meant for this turn. `"reject"` appends nothing: the call rejects with a ConflictError
   * `session_busy`. Default: what the session's actor declares, else `"enqueue"`.
   */
  whileBusy?: WhileBusy;
};

/** How records are sent together. */
export type SendBatchCallOptions = AppendBatchCallOptions & BusyOptions;

/** Options of sending one record. */
export type SendCallOptions = AppendCallOptions & BusyOptions;

/** What a body says besides its records. */
const toWireOptions = ({ idempotencyKey, idempotencyKeyTtl, whileBusy }: KeyOptions & BusyOptions) => ({
  ...(idempotencyKey !== undefined && { idempotency_key: idempotencyKey }),
  ...(idempotencyKeyTtl !== undefined && {
    idempotency_key_ttl: toWireDuration(idempotencyKeyTtl, "idempotencyKeyTtl"),
  }),
  ...(whileBusy !== undefined && { while_busy: whileBusy }),
});

/** JSON has no undefined: a record without data has null. */
const toWireRecord = ({ data, contentType, correlationId }: NewRecord) => ({
  data: data === undefined ? null : data,
  ...(contentType !== undefined && { content_type: contentType }),
  ...(correlationId !== undefined && { correlation_id: correlationId }),
});

const append = <T>(
  transport: Transport,
  shape: Shape<T>,
  path: string,
  body: SendRecords,
  options: AppendBatchCallOptions,
): Promise<CamelCased<T>> =>
  transport.ask(shape, {
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
  append(
    transport,
    streamRecordShape,
    path,
    { ...toWireRecord({ ...options, data }), ...toWireOptions(options) },
    options,
  );

const recordsShape: Shape<{ records: Wire.StreamRecord[] }> = { records: streamRecordShape };
const sentRecordsShape: Shape<{ records: Wire.SentRecord[] }> = { records: sentRecordShape };

const toWireBatch = (records: readonly NewRecord[], options: SendBatchCallOptions) => ({
  records: records.map(toWireRecord),
  ...toWireOptions(options),
});

/** Appends up to 500 records, all or none. */
export async function appendRecords(
  transport: Transport,
  path: string,
  records: readonly NewRecord[],
  options: AppendBatchCallOptions,
): Promise<StreamRecord[]> {
  const body = toWireBatch(records, options);
  return (await append(transport, recordsShape, path, body, options)).records;
}

/** As `appendRecord`, to an input stream. */
export const sendRecord = (
  transport: Transport,
  path: string,
  data: unknown,
  options: SendCallOptions,
): Promise<SentRecord> =>
  append(
    transport,
    sentRecordShape,
    path,
    { ...toWireRecord({ ...options, data }), ...toWireOptions(options) },
    options,
  );

/** As `appendRecords`, to an input stream. */
export async function sendRecords(
  transport: Transport,
  path: string,
  records: readonly NewRecord[],
  options: SendBatchCallOptions,
): Promise<SentRecord[]> {
  return (await append(transport, sentRecordsShape, path, toWireBatch(records, options), options)).records;
}
