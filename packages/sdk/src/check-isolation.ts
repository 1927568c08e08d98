import { ISOLATIONS, listIsolationProblems } from "@keelson/contract/plain";
import type { TaskOptions } from "./task.ts";
import { UsageError } from "./keelson-error.ts";

/** A folder of the worker's machine that a task sees. A path alone is a folder that the task may read. */
export type TaskFolderOption = string | { path: string; writable?: boolean };

/** As the wire has them. */
export const toWireFolders = (folders: readonly TaskFolderOption[]): { path: string; writable?: boolean }[] =>
  folders.map((folder) => (typeof folder === "string" ? { path: folder } : { ...folder }));

/** Throws a UsageError for an isolation that does not exist, and for folders that cannot be declared. */
export function checkIsolation(
  kind: string,
  id: string,
  { isolation, folders = [] }: Pick<TaskOptions, "isolation" | "folders">,
): void {
  const known: readonly (string | undefined)[] = [undefined, ...ISOLATIONS];
  if (!known.includes(isolation))
    throw new UsageError(
      `${kind}(): "${id}" declares the isolation ${JSON.stringify(isolation)}. Use one of: ${ISOLATIONS.join(", ")}`,
    );
  const wire = toWireFolders(folders);
  const [problem] = listIsolationProblems({ isolation, folders: wire });
  if (problem === undefined) return;
  const index = /^folders\.(\d+)/.exec(problem.path)?.[1];
  const subject = index === undefined ? "folders" : `the folder ${JSON.stringify(wire[Number(index)]?.path)}`;
  throw new UsageError(`${kind}(): "${id}" declares ${subject}, which ${problem.message}`);
}
