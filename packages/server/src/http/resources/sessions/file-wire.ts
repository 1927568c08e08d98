import { encodeId, type SessionFile } from "@keelson/contract";
import type { FileRow } from "../../../core/sessions/session-file.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { Reply, RequestFacts } from "../../edge/route.ts";
import { toTimestamp } from "../../edge/time.ts";
import { contentReply } from "../files/content-reply.ts";

export const toSessionFile = ({
  id,
  sessionId,
  name,
  mediaType,
  sizeBytes,
  digest,
  createdAt,
}: FileRow): SessionFile => ({
  id: encodeId("file", id),
  session_id: encodeId("sess", sessionId),
  name,
  media_type: mediaType,
  size_bytes: sizeBytes,
  sha256: digest.toString("hex"),
  created_at: toTimestamp(createdAt),
});

/**
 * What was uploaded goes out with the type that its uploader said, on the origin that the console has too. Where a browser shows it all
 * the same, as a frame of a page, it runs nothing and is of no origin.
 */
const HARMLESS = { "content-security-policy": "default-src 'none'; sandbox" };

/** The bytes of a file. */
export function fileContentReply(
  server: Pick<ServerContext, "workspaceBlobs">,
  file: FileRow,
  request: RequestFacts,
): Promise<Reply> {
  const digest = file.digest.toString("hex");
  const read = async (start: number, end: number): Promise<AsyncIterable<Uint8Array>> => {
    const blob = await server.workspaceBlobs(file.environmentId).read(digest);
    if (blob === null) throw new Error(`The bytes of blob ${digest} are not in the blob store.`);
    return start === 0 && end === file.sizeBytes ? blob.bytes : partOf(blob.bytes, start, end);
  };
  const content = {
    ...{ digest, sizeBytes: file.sizeBytes, contentType: file.mediaType, headers: HARMLESS, read },
    ...{ name: file.name ?? encodeId("file", file.id), modifiedAt: file.createdAt },
  };
  return contentReply(content, request);
}

/** The bytes from `start` up to and without `end`; what comes before is read and dropped. */
async function* partOf(
  bytes: AsyncIterable<Uint8Array>,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const chunk of bytes) {
    const part = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    if (part.byteLength > 0) yield part;
    at += chunk.byteLength;
    if (at >= end) return;
  }
}
