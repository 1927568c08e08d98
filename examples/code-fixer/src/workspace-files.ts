import type { RunWorkspace } from "@keelson/sdk";

/**
 * Files are written and read by commands, inside the sandbox, though the task could reach them with `node:fs`: the task is
 * outside of it, and would follow a link that the code it runs has left in a file's place. A command of a run happens once,
 * so none of this needs a step of its own. The path is an argument, never part of the script.
 */

/** Gives the version that the change is. */
export async function writeFile(workspace: RunWorkspace, path: string, content: string): Promise<string> {
  const command = ["sh", "-c", 'cat > "$1"', "write", path];
  const { exit_code, stderr, version_id } = await workspace.exec(command, { stdin: content });
  if (exit_code !== 0) throw new Error(`${path} could not be written: ${stderr}`);
  if (version_id === null) throw new Error(`${path} was so already: nothing has changed`);
  return version_id;
}

export async function readFile(workspace: RunWorkspace, path: string): Promise<string> {
  const { exit_code, stdout, stderr } = await workspace.exec(["cat", "--", path]);
  if (exit_code !== 0) throw new Error(`${path} could not be read: ${stderr}`);
  return stdout;
}
