import type { Reply, RequestFacts } from "../../edge/route.ts";
import { namesTag, parseRange } from "./file-range.ts";

export type Content = {
  /** The SHA-256 of the bytes, in hexadecimal. */
  digest: string;
  sizeBytes: number;
  /** What a browser saves it as. */
  name: string;
  /** Milliseconds. */
  modifiedAt: number;
  contentType: string;
  headers?: Readonly<Record<string, string>>;
  /** The bytes from `start` up to and without `end`. */
  read: (start: number, end: number) => Promise<AsyncIterable<Uint8Array>>;
};

/**
 * A file as HTTP has it: with its digest as the `ETag`, of which a range can be asked for. Always an attachment, which no browser
 * shows as a page of ours.
 *
 * @throws DomainError `range_not_satisfiable`
 */
export async function contentReply(content: Content, request: RequestFacts): Promise<Reply> {
  const { sizeBytes, contentType } = content;
  const tag = tagOf(content);
  const fixed = {
    ...content.headers,
    etag: tag,
    "accept-ranges": "bytes",
    "last-modified": new Date(content.modifiedAt).toUTCString(),
  };
  const none = request.header("if-none-match");
  if (none !== null && namesTag(none.replaceAll("W/", ""), tag))
    return { status: 304, body: undefined, headers: fixed };
  const ifRange = request.header("if-range");
  const range = ifRange === null || ifRange === tag ? parseRange(request.header("range"), sizeBytes) : null;
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  return {
    status: range === null ? 200 : 206,
    bytes: await content.read(start, end),
    contentType,
    headers: {
      ...fixed,
      "content-length": String(end - start),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(content.name).replaceAll("'", "%27")}`,
      ...(range === null ? {} : { "content-range": `bytes ${start}-${end - 1}/${sizeBytes}` }),
    },
  };
}

export const tagOf = ({ digest }: { digest: string }): string => `"${digest}"`;
