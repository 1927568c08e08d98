import { findProjectFolder } from "./project/project-folder.ts";

/** The `project` that the configuration of the project says which the folder is in; null when it says none. */
export async function configuredProject(cwd: string): Promise<string | null> {
  const folder = findProjectFolder(cwd);
  if (folder === null) return null;
  // A configuration may be code that is built first; without one nothing of that is loaded.
  const { readProjectConfig } = await import("./project/read-project-config.ts");
  return (await readProjectConfig(folder)).project ?? null;
}
