/** What one child run counts: a folder with all below it, or only the files directly in it. */
export type Part = { directory: string; recursive: boolean };
export type PlannedPart = Part & { files: number };

/** Splitting goes on until no part has more than this share of all files, or there are enough parts. */
const LARGEST_SHARE = 0.15;
const SMALLEST_TO_SPLIT = 60;
const MAX_PARTS = 32;
/** The top folder is split even into more parts than that. */
const MAX_TOP_PARTS = 400;

type Folder = { directory: string; direct: number; total: number; folders: Map<string, Folder> };
type Piece = Part & { files: number; folder: Folder };

export const WHOLE: Part = { directory: ".", recursive: true };

/** How a part is called where people read it. */
export const nameOfPart = ({ directory, recursive }: Part): string =>
  recursive ? directory : directory === "." ? "files at the top" : `${directory}/*`;

/**
 * Cuts a repository into parts of comparable size along its folders; every file is in exactly one. The same files
 * give the same parts, sorted by name.
 */
export function planParts(paths: readonly string[]): PlannedPart[] {
  if (paths.length === 0) return [];
  const top = readTree(paths);
  let pieces = splitPiece(wholeOf(top));
  if (pieces.length > MAX_TOP_PARTS) pieces = [wholeOf(top)];
  const worthSplitting = Math.max(SMALLEST_TO_SPLIT, paths.length * LARGEST_SHARE);
  const candidates = pieces.filter((piece) => piece.recursive && piece.files > worthSplitting);
  while (candidates.length > 0) {
    candidates.sort((a, b) => b.files - a.files || compare(a.directory, b.directory));
    const largest = candidates.shift() as Piece;
    const smaller = splitPiece(largest);
    if (pieces.length - 1 + smaller.length > MAX_PARTS) continue;
    pieces = [...pieces.filter((piece) => piece !== largest), ...smaller];
    candidates.push(...smaller.filter((piece) => piece.recursive && piece.files > worthSplitting));
  }
  return pieces
    .map(({ directory, recursive, files }) => ({ directory, recursive, files }))
    .sort((a, b) => compare(a.directory, b.directory) || Number(a.recursive) - Number(b.recursive));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function readTree(paths: readonly string[]): Folder {
  const top: Folder = { directory: ".", direct: 0, total: 0, folders: new Map() };
  for (const path of paths) {
    let folder = top;
    folder.total += 1;
    for (let slash = path.indexOf("/"); slash !== -1; slash = path.indexOf("/", slash + 1)) {
      const directory = path.slice(0, slash);
      let below = folder.folders.get(directory);
      if (below === undefined) {
        below = { directory, direct: 0, total: 0, folders: new Map() };
        folder.folders.set(directory, below);
      }
      folder = below;
      folder.total += 1;
    }
    folder.direct += 1;
  }
  return top;
}

const wholeOf = (folder: Folder): Piece => ({
  directory: folder.directory,
  recursive: true,
  files: folder.total,
  folder,
});

/** The files directly in a folder, and each folder below it. */
function splitPiece({ folder }: Piece): Piece[] {
  const below = [...folder.folders.values()].map(wholeOf);
  if (folder.direct === 0) return below;
  return [{ directory: folder.directory, recursive: false, files: folder.direct, folder }, ...below];
}
