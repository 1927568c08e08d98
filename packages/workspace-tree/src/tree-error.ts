export type TreeErrorCode =
  /** A path that no tree can have. */
  | "invalid_path"
  /** The path leads through something that is not a directory, or names a directory where a file is meant. */
  | "wrong_kind"
  /** More entries or bytes than a tree may have. */
  | "too_large"
  /** Stored bytes do not have their digest, or do not say what they should. */
  | "damaged"
  /** Stored bytes are not there. */
  | "missing_blob";

/** What this package refuses. The message says what and where; `details` names it for programs. */
export class TreeError extends Error {
  readonly code: TreeErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: TreeErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    options: ErrorOptions = {},
  ) {
    super(message, options);
    this.name = "TreeError";
    this.code = code;
    this.details = details;
  }
}
