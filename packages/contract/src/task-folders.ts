import type { Isolation } from "./workspaces.ts";

/** A folder of the worker's machine that a task in the namespace tier sees at its own path. */
export type TaskFolder = {
  path: string;
  /** Default: false, the task may read it alone. */
  writable?: boolean;
};

/** The kernel's own, which a task in the namespace tier has its own of. */
const KERNEL_FOLDERS = ["/dev", "/proc", "/sys"];
const MAX_PATH_BYTES = 4_095;

/** What is wrong with a declared path, to follow its name; null when nothing is. */
export function taskFolderProblem(path: string): string | null {
  if (!path.startsWith("/")) return "must be an absolute path";
  if (path.includes("\0") || new TextEncoder().encode(path).length > MAX_PATH_BYTES)
    return `must be a path of at most ${MAX_PATH_BYTES} bytes without a zero byte`;
  if (path === "/") return "must be a folder below /, because / would show the whole machine";
  const names = path.slice(1).split("/");
  if (names.some((name) => name === "" || name === "." || name === ".."))
    return "must have no empty part, no . and no .. in it, and no slash at its end";
  const kernel = KERNEL_FOLDERS.find((folder) => `${path}/`.startsWith(`${folder}/`));
  return kernel === undefined ? null : `must be outside of ${kernel}, of which the task has its own`;
}

/** The problems of a declaration's isolation, each with the place below the declaration that it is about. */
export function listIsolationProblems({
  isolation,
  folders = [],
}: {
  isolation?: Isolation | undefined;
  folders?: readonly TaskFolder[] | undefined;
}): { path: string; message: string }[] {
  if (folders.length > 0 && isolation !== "namespace")
    return [
      {
        path: "folders",
        message: 'needs isolation "namespace"; in the process tier a task sees every folder of its user',
      },
    ];
  const seen = new Set<string>();
  return folders.flatMap(({ path }, index) => {
    const problem = seen.has(path) ? "is declared twice" : taskFolderProblem(path);
    seen.add(path);
    return problem === null ? [] : [{ path: `folders.${index}.path`, message: problem }];
  });
}
