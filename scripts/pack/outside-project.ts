import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { root } from "./staging.ts";

export type Outcome = { code: number | null; stdout: string; stderr: string };

const isOfNpm = (entry: string): boolean => entry.includes("node_modules") || entry.includes("node-gyp-bin");

/** Where packages come from is the machine's matter; all else that npm passes on is the checkout's. */
const KEPT_OF_NPM = /^npm_config_(registry|userconfig|globalconfig|cafile|proxy|https_proxy|noproxy)$/i;

/** What a terminal has: nothing of the checkout, of npm and of the tests, so that `node` and `npm` are the machine's. */
export function outsideEnvironment(): NodeJS.ProcessEnv {
  const isKept = (name: string): boolean =>
    KEPT_OF_NPM.test(name) || !/^(npm_|NODE_|KEELSON_|DATABASE_)|^(CI|INIT_CWD)$/.test(name);
  const entries = (process.env["PATH"] ?? "").split(path.delimiter);
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isKept(name))),
    PATH: entries.filter((entry) => !isOfNpm(entry)).join(path.delimiter),
  };
}

/** Runs a program to its end. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = outsideEnvironment(),
): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    timeout: 300_000,
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}

/** What npm says when no registry answers. */
const OFFLINE = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b/;

/**
 * Installs packages into a folder as a user does. Returns null, or why no registry can be reached. Throws for every other
 * failure.
 */
export function install(folder: string, packages: readonly string[]): string | null {
  const args = ["install", "--no-audit", "--no-fund", "--fetch-retries=1", ...packages];
  const { code, stderr } = run("npm", args, folder);
  if (code === 0) return null;
  const unreachable = OFFLINE.exec(stderr)?.[1];
  if (unreachable === undefined) throw new Error(`npm install failed:\n${stderr}`);
  return `the npm registry cannot be reached (${unreachable})`;
}

/** A folder with files, and an empty package.json when none is given. */
export async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries({ "package.json": '{"private": true}', ...files })) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}

/**
 * Has npm link the Node that is here: what is asked is that it is found, and to unpack its 190 MB takes
 * seconds of a core.
 */
export async function linkNode(project: string): Promise<void> {
  const name = `node-${process.platform}-${process.arch}`;
  const file = path.join(project, "package.json");
  const own = JSON.parse(await readFile(file, "utf8")) as object;
  const overrides = { [name]: `file:${path.join(root, "node_modules", name)}` };
  if (existsSync(path.join(root, "node_modules", name)))
    await writeFile(file, JSON.stringify({ ...own, overrides }));
}

const compiler = (name: string): string => path.join(root, "node_modules", name, "bin/tsc");

/** The newest compiler, and the oldest that the packages are checked with; both are installed here. */
export const COMPILERS = {
  new: compiler("typescript"),
  old: compiler("@arethetypeswrong/core/node_modules/typescript"),
};
