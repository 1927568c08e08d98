import type { FileEntry } from "@keelson/contract";

/** What is known of one directory's entries. */
export type Directory =
  | { state: "loading" }
  | { state: "failed"; message: string }
  | { state: "loaded"; entries: readonly FileEntry[]; hasMore: boolean };

export type EntryRow = {
  kind: "entry";
  /** The path: no two rows have the same. */
  key: string;
  entry: FileEntry;
  level: number;
  position: number;
  setSize: number;
  /** Null for what has nothing in it to show. */
  isExpanded: boolean | null;
};
export type TreeRow = EntryRow | { kind: "note"; key: string; level: number; text: string };

export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** The directories that a path lies in, the outermost first; without the root. */
export function ancestorsOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Directories first; within both, as the server sorts them. */
export const directoriesFirst = (entries: readonly FileEntry[]): FileEntry[] => [
  ...entries.filter(({ kind }) => kind === "directory"),
  ...entries.filter(({ kind }) => kind !== "directory"),
];

/** The rows that are seen, from the top: every entry below directories that are expanded. */
export function treeRows(
  directories: ReadonlyMap<string, Directory>,
  expanded: ReadonlySet<string>,
): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (path: string, level: number): void => {
    const note = (text: string): void => void rows.push({ kind: "note", key: `${path}/`, level, text });
    const directory = directories.get(path);
    if (directory === undefined || directory.state === "loading") return note("Loading …");
    if (directory.state === "failed") return note(directory.message);
    const { entries, hasMore } = directory;
    if (entries.length === 0 && level > 1) return note("Empty");
    for (const [index, entry] of entries.entries()) {
      const isDirectory = entry.kind === "directory";
      const isExpanded = isDirectory ? expanded.has(entry.path) : null;
      const place = { level, position: index + 1, setSize: entries.length };
      rows.push({ kind: "entry", key: entry.path, entry, ...place, isExpanded });
      if (isExpanded === true) add(entry.path, level + 1);
    }
    if (hasMore) note(`The first ${entries.length.toLocaleString("en")} are shown`);
  };
  add("", 1);
  return rows;
}

export type TreeMove =
  | { kind: "go"; key: string }
  | { kind: "expand"; path: string }
  | { kind: "collapse"; path: string }
  | { kind: "open"; entry: FileEntry };

const PAGE_ROWS = 15;

/** What a key does in the tree, after the pattern of WAI-ARIA; null for a key that does nothing there. */
export function moveOf(rows: readonly TreeRow[], activeKey: string | null, pressed: string): TreeMove | null {
  const entries = rows.filter((row) => row.kind === "entry");
  const at = entries.findIndex(({ key }) => key === activeKey);
  const active = entries[at];
  const go = (index: number): TreeMove | null => {
    const row = entries[Math.max(0, Math.min(entries.length - 1, index))];
    return row === undefined ? null : { kind: "go", key: row.key };
  };
  if (active === undefined) return /^(Arrow|Home|Page)/.test(pressed) ? go(0) : null;
  switch (pressed) {
    case "ArrowDown":
      return go(at + 1);
    case "ArrowUp":
      return go(at - 1);
    case "PageDown":
      return go(at + PAGE_ROWS);
    case "PageUp":
      return go(at - PAGE_ROWS);
    case "Home":
      return go(0);
    case "End":
      return go(entries.length - 1);
    case "ArrowRight":
      if (active.isExpanded === false) return { kind: "expand", path: active.key };
      return active.isExpanded === true && entries[at + 1]?.level === active.level + 1 ? go(at + 1) : null;
    case "ArrowLeft":
      if (active.isExpanded === true) return { kind: "collapse", path: active.key };
      return active.level > 1 ? { kind: "go", key: parentOf(active.key) } : null;
    case "Enter":
    case " ":
      if (active.isExpanded === null) return { kind: "open", entry: active.entry };
      return { kind: active.isExpanded ? "collapse" : "expand", path: active.key };
    default:
      return pressed.length === 1 ? goByName(entries, at, pressed.toLowerCase()) : null;
  }
}

/** The next entry whose name begins with the character, around the end. */
function goByName(entries: readonly EntryRow[], at: number, character: string): TreeMove | null {
  const after = [...entries.slice(at + 1), ...entries.slice(0, at + 1)];
  const found = after.find(({ entry }) => entry.name.toLowerCase().startsWith(character));
  return found === undefined ? null : { kind: "go", key: found.key };
}
