import { closeSync, constants, fchmodSync, fchownSync, openSync, renameSync, rmSync, write } from "node:fs";
import { promisify } from "node:util";
import { placeOf, statOf } from "./folder.ts";
import { inFolderOf, type LiveTree } from "./live-files.ts";
import { LiveFileError, quote, toLiveFileError } from "./live-file-error.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const NEW_FILE_MODE = 0o644;
const writeAt = promisify(write);

/**
 * A file that is written beside a live folder, where none of its programs can come, and moved into it when it is whole. It
 * takes the place of a name: what had that name, a link, a pipe or one of several names of a file, is never written to.
 */
export class StagedFile {
  readonly #place: string;
  readonly #path: string;
  readonly #fd: number;
  readonly #maxBytes: number;
  #bytes = 0;
  #isOpen = true;

  /** @param place a path that is free, on the disk of the live folder. */
  constructor(place: string, path: string, maxBytes: number) {
    this.#place = place;
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#fd = openSync(place, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600);
  }

  /** @throws LiveFileError */
  async write(bytes: Buffer): Promise<void> {
    try {
      if (this.#bytes + bytes.length > this.#maxBytes)
        throw new LiveFileError(
          "too_large",
          `${quote(this.#path)} would have more than ${this.#maxBytes} bytes.`,
        );
      for (let done = 0; done < bytes.length;)
        done += (await writeAt(this.#fd, bytes, done, bytes.length - done, this.#bytes + done)).bytesWritten;
      this.#bytes += bytes.length;
    } catch (error) {
      throw toLiveFileError(error, this.#path);
    }
  }

  /**
   * Makes it the file at its path, with the folders that are missing.
   *
   * @param mode permission bits; null: those of the file that was there, else 644.
   * @throws LiveFileError
   */
  async moveInto(tree: LiveTree, mode: number | null): Promise<void> {
    await inFolderOf(tree, this.#path, true, (folder, name) => {
      const former = statOf(folder, name);
      if (former?.isDirectory() === true)
        throw new LiveFileError("is_folder", `${quote(this.#path)} is a folder.`);
      if (tree.owner !== null) fchownSync(this.#fd, tree.owner.uid, tree.owner.gid);
      fchmodSync(this.#fd, mode ?? (former?.isFile() === true ? former.mode & 0o777 : NEW_FILE_MODE));
      renameSync(this.#place, placeOf(folder, name));
    });
    this.#close();
  }

  /** Nothing of it is left, unless it was moved. */
  drop(): void {
    if (!this.#isOpen) return;
    this.#close();
    rmSync(this.#place, { force: true });
  }

  #close(): void {
    this.#isOpen = false;
    closeSync(this.#fd);
  }
}
