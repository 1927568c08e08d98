import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** For `skip` of a test: false where there is git. */
export const WITHOUT_GIT: string | false =
  spawnSync("git", ["--version"]).error === undefined ? false : "git is not installed here";

export type FixtureRepository = AsyncDisposable & {
  root: string;
  write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  /** Commits all there is. */
  commit(at: string, author?: string): Promise<void>;
  git(...args: string[]): Promise<string>;
};

/** A repository in a folder of its own, made with nothing of this machine's git configuration. */
export async function createFixtureRepository(): Promise<FixtureRepository> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "keelson-repository-")));
  // Under an agent that is root, tasks have a user of their own.
  await chmod(root, 0o755);
  const environment = { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
  const git = async (args: readonly string[], more: Record<string, string> = {}): Promise<string> =>
    (await run("git", args, { cwd: root, env: { ...environment, ...more } })).stdout;
  await git(["init", "--quiet", "--initial-branch=main"]);
  return {
    root,
    git: (...args) => git(args),
    async write(files) {
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), content);
      }
    },
    async commit(at, author = "Ada") {
      await git(["add", "--all"]);
      const who = { NAME: author, EMAIL: `${author.toLowerCase()}@example.org`, DATE: at };
      const both: Record<string, string> = {};
      for (const [key, value] of Object.entries(who)) {
        both[`GIT_AUTHOR_${key}`] = value;
        both[`GIT_COMMITTER_${key}`] = value;
      }
      await git(["commit", "--quiet", "--allow-empty", "--message", "Change"], both);
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
