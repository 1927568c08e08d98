import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export type GitState = { commit: string; branch: string | null; dirty: boolean };

/** The commit that a folder stands at, or null when it is in no repository (or there is no git). */
export async function readGit(directory: string): Promise<GitState | null> {
  const git = async (...args: string[]): Promise<string> =>
    (await run("git", ["-C", directory, ...args])).stdout.trim();
  try {
    const [commit, branch, changes] = await Promise.all([
      git("rev-parse", "HEAD"),
      git("rev-parse", "--abbrev-ref", "HEAD"),
      git("status", "--porcelain", "--", "."),
    ]);
    return { commit, branch: branch === "HEAD" ? null : branch, dirty: changes !== "" };
  } catch {
    // What a deployment came from is for people to read; a project needs no repository to be deployed.
    return null;
  }
}
