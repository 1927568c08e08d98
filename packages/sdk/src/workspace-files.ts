import { KeelsonError } from "./keelson-error.ts";

/** An entry of a live workspace. */
export type RunFile = {
  /** From the workspace's root, `/`-separated. */
  path: string;
  /** The last part of the path. */
  name: string;
  /** `other` is a pipe, a socket or a device. */
  kind: "file" | "directory" | "symlink" | "other";
  /** Of a file; 0 for all else. */
  sizeBytes: number;
  /** Permission bits in octal, such as `0644`. */
  mode: string;
  /** Where a symbolic link points, as it is written in it; null for all else. */
  linkTarget: string | null;
  /** When its content last changed. */
  modifiedAt: Date;
};

/** The content of a file: text is written as UTF-8, and a stream piece by piece. */
export type RunFileContent = string | Uint8Array | AsyncIterable<string | Uint8Array>;

/**
 * The live files of a run's workspace. Every call stays inside the workspace, also while its programs change files: it
 * never follows symbolic links and never opens pipes or devices. Paths are relative to the workspace's root,
 * `/`-separated, without `.` and `..`.
 *
 * The calls are ordinary I/O. They are not in the journal, so a replay repeats them. They may be used inside and outside
 * of steps. They reject with a WorkspaceFileError with a `code`.
 */
export type RunWorkspaceFiles = {
  /** A file's content, in memory: at most 64 MiB, else `too_large`. Read a larger one with `readStream`. */
  read(path: string): Promise<Uint8Array>;
  /** As `read`, decoded as UTF-8. */
  readText(path: string): Promise<string>;
  /** A file's content in pieces of up to 1 MiB, of any size. It begins to read when the first piece is asked for. */
  readStream(path: string): ReadableStream<Uint8Array>;
  /**
   * Writes a file of up to 16 GiB, and creates missing folders. The file appears with its whole content at once, and
   * belongs to the workspace's user. It replaces a link or pipe of that name, and one name of a hard link, without a
   * change to the link's target. `mode` is octal, such as `755`. By default an existing file keeps its mode, and a new
   * file has `644`.
   */
  write(path: string, content: RunFileContent, options?: { mode?: string }): Promise<void>;
  /** The direct children of a folder, by default of the root, by name. At most 10,000, else `too_large`. */
  list(path?: string): Promise<RunFile[]>;
  /** A file, folder or symbolic link. */
  stat(path: string): Promise<RunFile>;
  /**
   * Removes a file, a link or an empty folder. With `recursive` it removes a folder with its content. With `force` it
   * ignores a missing file.
   */
  remove(path: string, options?: { recursive?: boolean; force?: boolean }): Promise<void>;
};

/** Why a call of `ctx.workspace.files` failed. */
export type WorkspaceFileErrorCode =
  | "not_found"
  | "is_folder"
  | "is_link"
  | "not_a_folder"
  | "not_a_file"
  | "folder_not_empty"
  | "invalid_path"
  | "too_large"
  | "not_permitted"
  | "disk_full"
  | "io_error";

/** A call of `ctx.workspace.files` failed. */
export class WorkspaceFileError extends KeelsonError {
  override readonly name: string = "WorkspaceFileError";
  /** `invalid_path`: the path leaves the workspace, or no file can have it. */
  readonly code: WorkspaceFileErrorCode;

  constructor(code: WorkspaceFileErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
