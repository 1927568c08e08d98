import type { InputDisposition, SendRecords } from "@keelson/contract";
import { canonicalDigest } from "../../../core/idempotency/canonical-json.ts";
import { findStoredAnswer } from "../../../core/idempotency/idempotency-reads.ts";
import { idempotencyExpiry } from "../../../core/idempotency/idempotency-expiry.ts";
import {
  parseStoredAppend,
  type AppendedBefore,
  type AppendKey,
} from "../../../core/streams/append-batch.ts";
import { prepareRecords } from "../../../core/streams/prepare-records.ts";
import {
  dispositionOf,
  type Append,
  type RecordRow,
  type RecordSource,
} from "../../../core/streams/stream.ts";
import { listRecords } from "../../../core/streams/read-records.ts";
import { findStreams, type StreamRow } from "../../../core/streams/stream-reads.ts";
import type { AppendOptions } from "../../../core/sessions/record-appender.ts";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { replayedHeader } from "../../edge/keep-reply.ts";
import type { Reply } from "../../edge/route.ts";
import { offerRecords, rowsOf } from "./offer-records.ts";
import type { StreamTarget } from "./stream-target.ts";
import { sentRecordJson } from "./wire.ts";

/**
 * Appends what the body holds, and answers with the record, or with the records.
 */
export async function appendRecords(
  server: ServerContext,
  target: StreamTarget,
  body: SendRecords,
  idempotencyKey: string | null,
  source: RecordSource,
  options: Pick<AppendOptions, "first" | "mayInterrupt"> = {},
): Promise<Reply> {
  const at = server.clock();
  const append: Append = { ...target, records: prepareRecords(body, server.newUuid), source, at };
  const key = idempotencyKey === null ? null : appendKey(target, body, idempotencyKey, source, at);
  const { recordAppender, storageQuota } = server;
  try {
    await storageQuota.admit(target.environmentId);
  } catch (error) {
    // A repeat stores nothing, and is answered as the first time.
    const repeated =
      idempotencyKey === null ? null : await repeatedAppend(server, target, body, idempotencyKey, source);
    if (repeated !== null) return repeated;
    throw error;
  }
  const outcome = await recordAppender.append(append, key, { ...options, whileBusy: body.while_busy });
  if (outcome.replayed) return repeatedReply(server, target, body, outcome);
  const bytes = append.records.reduce((sum, { data }) => sum + data.length, 0);
  storageQuota.noteAppended(target.environmentId, bytes);
  const { streamId, firstSequence, arrival } = outcome;
  const rows = rowsOf({ append, firstSequence }, arrival?.steer === true);
  offerRecords(server, target, streamId, rows);
  return appendReply(target, body, rows, (row) =>
    arrival === null ? null : dispositionOf(arrival, row.sequence),
  );
}

function appendReply(
  target: StreamTarget,
  body: SendRecords,
  rows: readonly RecordRow[],
  disposition: (row: RecordRow) => InputDisposition | null,
) {
  const records = rows.map((row) => sentRecordJson(target.sessionId, target.name, row, disposition(row)));
  return {
    status: 201,
    json: body.records === undefined ? (records[0] as string) : `{"records":[${records.join(",")}]}`,
  };
}

async function repeatedReply(
  server: ServerContext,
  target: StreamTarget,
  body: SendRecords,
  { streamId, firstSequence, startedTurn }: AppendedBefore,
): Promise<Reply> {
  const rows = await listRecords(server.db, {
    environmentId: target.environmentId,
    streamId,
    after: firstSequence - 1,
    correlationId: null,
    unreceived: false,
    limit: body.records?.length ?? 1,
    maxBytes: Number.MAX_SAFE_INTEGER,
  });
  if (rows.length < (body.records?.length ?? 1)) {
    throw new DomainError(
      "session_closed",
      "The session has ended, and its records were deleted, including those of this request.",
    );
  }
  const [stream] = target.direction === "input" ? await findStreams(server.db, [target]) : [];
  const reply = appendReply(target, body, rows, (row) =>
    stream === undefined ? null : dispositionNow(row, stream, startedTurn),
  );
  return { ...reply, headers: replayedHeader(true) };
}

/** Of a record that an earlier request appended: what began a turn has begun it, and the rest is as it stands now. */
function dispositionNow(
  { sequence, withdrawnAt, steer }: RecordRow,
  { receivedSequence }: StreamRow,
  startedTurn: boolean,
): InputDisposition | null {
  if (withdrawnAt !== null) return null;
  if (startedTurn) return "started";
  if (sequence <= receivedSequence) return "delivered";
  return steer === true ? "steered" : "queued";
}

/** The answer to an append that is known to be a repeat, without any chance to append again; null when it is none. */
export async function repeatedAppend(
  server: ServerContext,
  target: StreamTarget,
  body: SendRecords,
  idempotencyKey: string,
  source: RecordSource,
): Promise<Reply | null> {
  const { scope, key, digest } = appendKey(target, body, idempotencyKey, source, server.clock());
  const stored = await findStoredAnswer(server.db, target.environmentId, scope, key);
  if (stored === null || stored.body === null || !stored.requestDigest.equals(digest)) return null;
  return repeatedReply(server, target, body, parseStoredAppend(stored.body));
}

function appendKey(
  target: StreamTarget,
  body: SendRecords,
  key: string,
  source: RecordSource,
  now: number,
): AppendKey {
  const { idempotency_key: _key, idempotency_key_ttl: ttl, ...content } = body;
  // A browser cannot take the keys that the application's own appends are about to use.
  const realm = source.kind === "public_access_token" ? "public:" : "";
  return {
    scope: `streams.append:${realm}${target.sessionId}/${target.direction}/${target.name}`,
    key,
    digest: canonicalDigest(content),
    expiresAt: idempotencyExpiry(ttl, now),
  };
}
