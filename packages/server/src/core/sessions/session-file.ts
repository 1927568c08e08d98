import { MEDIA_TYPE_PATTERN, type Uuid } from "@keelson/contract";
import { DomainError, invalidRequest } from "../../domain-error.ts";

/**
 * A file of a session is bytes that a message refers to, such as a picture, with what their uploader says of them. It never changes,
 * and it stays as long as its session. The same bytes with the same name and media type are the same file.
 */
export type FileFacts = {
  name: string | null;
  /** `type/subtype`. */
  mediaType: string;
};

/** The session that files are of. */
export type FilePlace = { environmentId: Uuid<"env">; sessionId: Uuid<"sess"> };

/** A file as it is stored. Times are milliseconds. */
export type FileRow = FilePlace &
  FileFacts & {
    id: Uuid<"file">;
    /** SHA-256. */
    digest: Buffer;
    sizeBytes: number;
    createdAt: number;
  };

/** What bytes are of which nobody says what they are. */
export const DEFAULT_MEDIA_TYPE = "application/octet-stream";

const DIGEST = /^[0-9a-f]{64}$/;
const MEDIA_TYPE = new RegExp(MEDIA_TYPE_PATTERN);

/** @throws DomainError `invalid_request` */
export function requireFileDigest(text: string): string {
  if (DIGEST.test(text)) return text;
  const message = "must be the SHA-256 of the file in 64 lower-case hexadecimal digits";
  throw invalidRequest([{ path: "sha256", message }]);
}

/**
 * The media type of a `Content-Type` header, in lower case and without parameters. A header that is absent or empty says nothing.
 *
 * @throws DomainError `unsupported_media_type` when it is of another form.
 */
export function mediaTypeOf(contentType: string | null): string {
  const [type = ""] = (contentType ?? "").split(";");
  const mediaType = type.trim().toLowerCase();
  if (mediaType === "" && (contentType ?? "").trim() === "") return DEFAULT_MEDIA_TYPE;
  if (MEDIA_TYPE.test(mediaType)) return mediaType;
  throw new DomainError(
    "unsupported_media_type",
    "Send the media type of the file as Content-Type, such as image/png, or leave the header out.",
  );
}
