import { Type, type Static } from "typebox";
import { EXAMPLE_IDS } from "../example-ids.ts";
import { FILE_NAME_PATTERN, LIMITS, MEDIA_TYPE_PATTERN } from "../limits.ts";
import { Digest, Id, Nullable, pageQuery, Timestamp } from "./primitives.ts";

export const FileName = Type.String({
  minLength: 1,
  maxLength: LIMITS.fileNameCharacters,
  pattern: FILE_NAME_PATTERN,
  description: "The file's own name, without a folder.",
  examples: ["receipt.png"],
});

/** Bytes that were uploaded to a session, such as a picture that a message refers to. It never changes. */
export const SessionFile = Type.Object(
  {
    id: Id("file"),
    session_id: Id("sess"),
    name: Nullable(FileName),
    media_type: Type.String({
      maxLength: LIMITS.mediaTypeCharacters,
      pattern: MEDIA_TYPE_PATTERN,
      description:
        "As the uploader named it, in lower case and without parameters. Nobody has looked at the bytes.",
      examples: ["image/png"],
    }),
    size_bytes: Type.Integer({ minimum: 0 }),
    sha256: Digest,
    created_at: Timestamp,
  },
  {
    $id: "SessionFile",
    examples: [
      {
        id: EXAMPLE_IDS.file,
        session_id: EXAMPLE_IDS.sess,
        name: "receipt.png",
        media_type: "image/png",
        size_bytes: 312_044,
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        created_at: "2026-11-20T09:15:00.123Z",
      },
    ],
  },
);
export type SessionFile = Static<typeof SessionFile>;

/** How a file is uploaded. */
export const UploadSessionFile = Type.Object(
  { name: Type.Optional(FileName) },
  { additionalProperties: false },
);
export type UploadSessionFile = Static<typeof UploadSessionFile>;

/** Query parameters of a session's files. */
export const ListSessionFiles = Type.Object(pageQuery(), { additionalProperties: false });
export type ListSessionFiles = Static<typeof ListSessionFiles>;
