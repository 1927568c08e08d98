import { TreeError } from "./tree-error.ts";

/** What a tree may have. Bytes are of UTF-8. A name of Linux has at most 255 bytes. */
export const TREE_LIMITS = {
  entries: 250_000,
  pathBytes: 4096,
  nameBytes: 255,
  /** What Linux takes as the text of a link: it also needs a byte for the end. */
  targetBytes: 4095,
  manifestBytes: 128 * 1024 * 1024,
} as const;

const SLASH = 0x2f;

/**
 * Checks a path of a tree: relative to its root, `/`-separated, the root itself being the empty text.
 *
 * @throws TreeError `invalid_path` for an absolute path, `.`, `..`, an empty segment, NUL, text that is not Unicode, or
 * too much of it.
 */
export function checkPath(path: string): void {
  if (path === "") return;
  const problem = pathProblem(path);
  if (problem !== null) {
    throw new TreeError("invalid_path", `The path ${JSON.stringify(path.slice(0, 200))} ${problem}.`, {
      path,
    });
  }
}

function pathProblem(path: string): string | null {
  if (path.length > TREE_LIMITS.pathBytes || Buffer.byteLength(path) > TREE_LIMITS.pathBytes)
    return `has more than ${TREE_LIMITS.pathBytes} bytes`;
  if (path.startsWith("/")) return "begins with a slash; give it from the workspace's root";
  for (const name of path.split("/")) {
    const problem = nameProblem(name);
    if (problem !== null) return problem;
  }
  return null;
}

/** What is wrong with one name, or null. */
export function nameProblem(name: string): string | null {
  if (name === "") return "has an empty segment; write single slashes, and none at the end";
  if (name === "." || name === "..") return `has the segment "${name}"; write the path without it`;
  if (name.includes("\0")) return "has NUL in it";
  if (name.includes("/")) return "has a slash in a name";
  if (!name.isWellFormed()) return "is not valid Unicode";
  // A character has at most three bytes for each unit.
  if (name.length * 3 > TREE_LIMITS.nameBytes && Buffer.byteLength(name) > TREE_LIMITS.nameBytes)
    return `has a name of more than ${TREE_LIMITS.nameBytes} bytes`;
  return null;
}

/**
 * The order of a tree: a directory comes right before what is in it, and the entries of a directory are sorted by the
 * UTF-8 bytes of their names. `/` sorts before every other byte, so this is the order of a walk.
 */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x === SLASH) return -1;
    if (y === SLASH) return 1;
    return x >= 0xd800 && y >= 0xd800 ? utf8Rank(x) - utf8Rank(y) : x - y;
  }
  return a.length - b.length;
}

/** UTF-8 sorts as code points do; of UTF-16 units, the surrogates are to come after all others. */
const utf8Rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit + 0x2000);
