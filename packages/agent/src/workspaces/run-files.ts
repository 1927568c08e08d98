import { closeSync, mkdtempSync, read, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { LIMITS, type FileAnswers, type FileCall, type FilePiece, type LiveFile } from "@keelson/contract";
import {
  listLive,
  LiveFileError,
  openLive,
  removeLive,
  StagedFile,
  statLive,
  type LiveEntry,
  type LiveTree,
} from "@keelson/workspace-tree";
import type { CallAnswer } from "../host/frames.ts";
import { DEFAULT_LIMITS } from "../sandboxes/sandbox.ts";

/** Files that one run reads or writes piece by piece at the same time. */
const MAX_OPEN = 64;
const MODE = /^0?[0-7]{3}$/;
const readAt = promisify(read);

type Open = { path: string; fd: number } | { path: string; staged: StagedFile; mode: number | null };

/**
 * The files of a workspace for the code of one run, which is outside of the sandbox, while programs inside may swap names
 * for links at any moment. Nothing outside of the workspace is read or changed.
 */
export class RunFiles {
  readonly #tree: LiveTree;
  /** Where no program of the workspace can come, on the same disk. */
  readonly #beside: string;
  readonly #open = new Map<number, Open>();
  readonly #busy = new Set<Promise<unknown>>();
  #staging: string | null = null;
  #lastHandle = 0;
  #isOver = false;

  constructor(tree: LiveTree, beside: string) {
    this.#tree = tree;
    this.#beside = beside;
  }

  async answer(call: FileCall): Promise<CallAnswer> {
    const answering = this.#isOver ? Promise.reject(OVER()) : this.#answer(call);
    this.#busy.add(answering);
    try {
      return { result: await answering };
    } catch (error) {
      const code = error instanceof LiveFileError ? error.code : "io_error";
      return { refusal: { code, message: error instanceof Error ? error.message : String(error) } };
    } finally {
      this.#busy.delete(answering);
    }
  }

  /** Takes no more calls, and drops what is not written to its end. Resolves when nothing is under way. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled(this.#busy);
    for (const handle of this.#open.keys()) this.#close(handle);
    if (this.#staging !== null) rmSync(this.#staging, { recursive: true, force: true });
    this.#staging = null;
  }

  async #answer(call: FileCall): Promise<FileAnswers[FileCall["op"]]> {
    switch (call.op) {
      case "read": {
        this.#checkRoom();
        const handle = this.#hold({ path: call.path, fd: await openLive(this.#tree, call.path) });
        return this.#read(handle);
      }
      case "read_on":
        return this.#read(call.handle);
      case "write":
        this.#checkRoom();
        return this.#write(this.#hold(this.#stage(call.path, call.mode)), call);
      case "write_on":
        return this.#write(call.handle, call);
      case "close":
        this.#close(call.handle);
        return null;
      case "list":
        return (await listLive(this.#tree, call.path, LIMITS.runFilesListed)).map(toWire);
      case "stat":
        return toWire(await statLive(this.#tree, call.path));
      case "remove":
        await removeLive(this.#tree, call.path, call.recursive);
        return null;
    }
  }

  #checkRoom(): void {
    if (this.#open.size >= MAX_OPEN)
      throw new LiveFileError(
        "too_large",
        `The run has ${MAX_OPEN} files open; read or write them to their end.`,
      );
  }

  #hold(file: Open): number {
    this.#lastHandle += 1;
    this.#open.set(this.#lastHandle, file);
    return this.#lastHandle;
  }

  #stage(path: string, mode: string | null): Open {
    if (mode !== null && !MODE.test(mode))
      throw new LiveFileError(
        "invalid_path",
        `The mode ${JSON.stringify(mode)} is not three octal digits, such as 755.`,
      );
    this.#staging ??= mkdtempSync(join(this.#beside, "staging-"));
    const staged = new StagedFile(
      join(this.#staging, String(this.#lastHandle + 1)),
      path,
      DEFAULT_LIMITS.fileBytes,
    );
    return { path, staged, mode: mode === null ? null : Number.parseInt(mode, 8) };
  }

  async #read(handle: number): Promise<FilePiece> {
    const file = this.#find(handle);
    if (!("fd" in file)) throw OVER();
    try {
      const bytes = Buffer.allocUnsafe(LIMITS.runFilePieceBytes);
      let length = 0;
      for (let more = -1; more !== 0 && length < bytes.length; length += more)
        more = (await readAt(file.fd, bytes, length, bytes.length - length, null)).bytesRead;
      const isAll = length < bytes.length;
      if (isAll) this.#close(handle);
      return { bytes: bytes.toString("base64", 0, length), handle: isAll ? null : handle };
    } catch (error) {
      this.#close(handle);
      throw error;
    }
  }

  async #write(
    handle: number,
    { bytes, more }: { bytes: string; more: boolean },
  ): Promise<{ handle: number | null }> {
    const file = this.#find(handle);
    if (!("staged" in file)) throw OVER();
    try {
      await file.staged.write(Buffer.from(bytes, "base64"));
      if (more) return { handle };
      await file.staged.moveInto(this.#tree, file.mode);
      this.#close(handle);
      return { handle: null };
    } catch (error) {
      this.#close(handle);
      throw error;
    }
  }

  #find(handle: number): Open {
    const file = this.#open.get(handle);
    if (file === undefined) throw OVER();
    return file;
  }

  #close(handle: number): void {
    const file = this.#open.get(handle);
    if (file === undefined) return;
    this.#open.delete(handle);
    if ("fd" in file) closeSync(file.fd);
    else file.staged.drop();
  }
}

const OVER = (): LiveFileError =>
  new LiveFileError("io_error", "The file is closed: its call has ended, or the run has.");

const toWire = ({ path, kind, sizeBytes, mode, linkTarget, modifiedAtMs }: LiveEntry): LiveFile => ({
  ...{ path, kind, size_bytes: sizeBytes, mode: mode.toString(8).padStart(4, "0") },
  ...{ link_target: linkTarget, modified_at: new Date(modifiedAtMs).toISOString() },
});
