import { LIMITS, type AppendRecords } from "@keelson/contract";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { NewRecord } from "./stream.ts";

type RecordBody = { data?: unknown; content_type?: string; correlation_id?: string };

/**
 * The records of an append's body: the one that it is, or those in `records`.
 *
 * @throws DomainError `invalid_request` when it is both or neither, `payload_too_large`.
 */
export function prepareRecords(body: AppendRecords, newUuid: NewUuid): NewRecord[] {
  const { records, data, content_type: contentType, correlation_id: correlationId } = body;
  if (records === undefined) {
    if (data === undefined)
      throw invalidRequest([{ path: "data", message: "is required; send data, or several as records" }]);
    return [toNewRecord(body, "data", newUuid)];
  }
  for (const [path, value] of Object.entries({
    data,
    content_type: contentType,
    correlation_id: correlationId,
  })) {
    if (value !== undefined)
      throw invalidRequest([{ path, message: "belongs into each of the records; remove it here" }]);
  }
  return records.map((record, index) => toNewRecord(record, `records.${index}.data`, newUuid));
}

export function toNewRecord(record: RecordBody, path: string, newUuid: NewUuid): NewRecord {
  const { content_type: contentType, correlation_id: correlationId } = record;
  const data = JSON.stringify(record.data ?? null);
  checkBytes(path, data, LIMITS.recordBytes);
  if (correlationId !== undefined && Buffer.byteLength(correlationId) > LIMITS.correlationIdBytes) {
    throw invalidRequest([
      { path: path.replace(/data$/, "correlation_id"), message: `may be ${LIMITS.correlationIdBytes} bytes` },
    ]);
  }
  return {
    id: newUuid(),
    data,
    contentType: contentType ?? null,
    correlationId: correlationId ?? null,
  };
}

function checkBytes(path: string, text: string, limit: number): void {
  // A character is at least a byte.
  if (text.length <= limit && Buffer.byteLength(text) <= limit) return;
  throw new DomainError(
    "payload_too_large",
    `${path} may be ${limit} bytes of JSON. Upload larger data as a file of the session (PUT …/files/{sha256}) and send the id of the file.`,
    { field: path, limit_bytes: limit },
  );
}
