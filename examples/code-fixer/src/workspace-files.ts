import type { RunWorkspace } from "@keelson/sdk";

/**
 * Writes by a command, so that each write is a version and happens once; `workspace.files.write` is the shorter way where
 * the end of the run is soon enough for a version. The path is an argument, never part of the script.
 *
 * Gives the version that the change is.
 */
export async function writeFile(workspace: RunWorkspace, path: string, content: string): Promise<string> {
  const command = ["sh", "-c", 'cat > "$1"', "write", path];
  const { exitCode, stderr, versionId } = await workspace.exec(command, { stdin: content });
  if (exitCode !== 0) throw new Error(`${path} could not be written: ${stderr}`);
  if (versionId === null) throw new Error(`${path} was so already: nothing has changed`);
  return versionId;
}
