import { fstatSync, readdirSync, type Stats } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { closeFolder, isGone, openChildBytes, openParent, type OpenFolder } from "./folder.ts";

export type FolderVisitor = {
  /** An entry of a folder. True: it is to be entered, if it is a folder still. */
  entry(folder: OpenFolder, name: Buffer): boolean;
  /** A folder that was entered, before it is listed. */
  enter(folder: OpenFolder, stat: Stats): void;
  /** After what is in it. Left out for a folder that another process moved away meanwhile. */
  leave(parent: OpenFolder, name: Buffer): void;
  /** What could not be done. The walk goes on without it. */
  failed(error: unknown): void;
};

/** Folders from the root down that are held open. One below them is gone back to by `..`, and only if it is the same. */
const HELD_LEVELS = 64;
const ENTRIES_PER_TURN = 256;

type Level = {
  folder: OpenFolder | null;
  readonly dev: number;
  readonly ino: number;
  /** In the folder above. */
  readonly name: Buffer;
  readonly rest: Buffer[];
};

/**
 * Goes through a live folder of any depth, in which other processes swap names for links, move folders and remove them. No
 * name is followed twice: what is entered is held open, and its entries are named through it. Other file systems that are
 * mounted in it are not entered. Only on Linux.
 *
 * @param root is closed by the caller.
 */
export async function walkLiveFolder(root: OpenFolder, visitor: FolderVisitor): Promise<void> {
  const levels: Level[] = [];
  const { dev } = fstatSync(root.fd);
  let seen = 0;
  try {
    enter(levels, root, Buffer.alloc(0), visitor);
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if ((seen += 1) % ENTRIES_PER_TURN === 0) await turn();
      const name = level.rest.pop();
      if (name === undefined) goUp(levels, visitor);
      else visit(levels, level.folder as OpenFolder, name, dev, visitor);
    }
  } finally {
    for (const { folder } of levels.slice(1)) if (folder !== null) closeFolder(folder);
  }
}

function enter(levels: Level[], folder: OpenFolder, name: Buffer, visitor: FolderVisitor): void {
  const stat = fstatSync(folder.fd);
  attempt(visitor, () => visitor.enter(folder, stat));
  const rest = attempt(visitor, () => readdirSync(`${folder.place}/`, { encoding: "buffer" })) ?? [];
  const above = levels.at(-1);
  levels.push({ folder, dev: stat.dev, ino: stat.ino, name, rest });
  if (above === undefined || levels.length <= HELD_LEVELS + 1) return;
  closeFolder(above.folder as OpenFolder);
  above.folder = null;
}

function visit(levels: Level[], folder: OpenFolder, name: Buffer, dev: number, visitor: FolderVisitor): void {
  attempt(visitor, () => {
    if (!visitor.entry(folder, name)) return;
    const child = openChildBytes(folder, name);
    if (fstatSync(child.fd).dev === dev) enter(levels, child, name, visitor);
    else closeFolder(child);
  });
}

function goUp(levels: Level[], visitor: FolderVisitor): void {
  const { folder: left, name } = levels.pop() as Level & { folder: OpenFolder };
  const above = levels.at(-1);
  // The root is the caller's.
  if (above === undefined) return;
  above.folder ??= attempt(visitor, () => openAbove(left, above)) ?? null;
  closeFolder(left);
  const parent = above.folder;
  if (parent !== null) attempt(visitor, () => visitor.leave(parent, name));
  // It was moved: the walk goes on in the nearest folder that is held.
  else while (levels.at(-1)?.folder === null) levels.pop();
}

function openAbove(folder: OpenFolder, { dev, ino }: Level): OpenFolder | null {
  const parent = openParent(folder);
  const stat = fstatSync(parent.fd);
  if (stat.dev === dev && stat.ino === ino) return parent;
  closeFolder(parent);
  return null;
}

/** What was removed or replaced since it was listed is no failure. */
function attempt<T>(visitor: FolderVisitor, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!isGone(error)) visitor.failed(error);
    return undefined;
  }
}
