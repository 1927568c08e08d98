import { TreeError } from "./tree-error.ts";

export type LiveFileErrorCode =
  | "not_found"
  /** A folder is at the path, and the call is for files. */
  | "is_folder"
  /** A symbolic link is at the path or on the way, and links are not followed. */
  | "is_link"
  | "not_a_folder"
  /** A pipe, a socket or a device. */
  | "not_a_file"
  | "folder_not_empty"
  | "invalid_path"
  | "too_large"
  | "not_permitted"
  | "disk_full"
  | "io_error";

/** What a call for a file of a live folder is refused with. The message names no place of the machine. */
export class LiveFileError extends Error {
  override readonly name = "LiveFileError";
  readonly code: LiveFileErrorCode;

  constructor(code: LiveFileErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
  }
}

const OF_SYSTEM: Record<string, [LiveFileErrorCode, string]> = {
  ENOENT: ["not_found", "is not in the workspace"],
  ENOTDIR: ["not_a_folder", "leads through an entry that is not a folder"],
  ELOOP: ["is_link", "is a symbolic link; links are not followed"],
  EISDIR: ["is_folder", "is a folder"],
  EEXIST: ["folder_not_empty", "is a folder that is not empty; pass `recursive: true`"],
  ENOTEMPTY: ["folder_not_empty", "is a folder that is not empty; pass `recursive: true`"],
  EACCES: ["not_permitted", "has permissions that keep the worker out"],
  EPERM: ["not_permitted", "has permissions that keep the worker out"],
  ENAMETOOLONG: ["invalid_path", "has a name that is too long"],
  EFBIG: ["too_large", "is larger than the disk allows"],
  ENOSPC: ["disk_full", "does not fit: the worker's disk is full"],
  EDQUOT: ["disk_full", "does not fit: the disk quota is used up"],
};

/** The error of a call for `path`, in words that name it from the workspace's root. */
export function toLiveFileError(error: unknown, path: string): LiveFileError {
  if (error instanceof LiveFileError) return error;
  if (error instanceof TreeError)
    return new LiveFileError(error.code === "invalid_path" ? "invalid_path" : "io_error", error.message);
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  const [kind, words] = OF_SYSTEM[code] ?? ["io_error", `could not be used: the system reports ${code}`];
  return new LiveFileError(kind, `${quote(path)} ${words}.`, { cause: error });
}

export const quote = (path: string): string => JSON.stringify(path.slice(0, 200));
