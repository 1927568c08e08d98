import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { isLong } from "../../packages/server/test/support/seeded-random.ts";
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
 * failure. In the short form npm has the tarballs and what is installed here, and asks nobody.
 */
export async function install(folder: string, tarballs: readonly string[]): Promise<string | null> {
  if (!isLong()) await linkNeeded(folder, tarballs);
  const few = ["--offline", "--ignore-scripts", "--cache", path.join(folder, ".npm")];
  const how = isLong() ? ["--fetch-retries=1"] : few;
  // Unpacked only to learn its name, a tarball costs npm a second: in the short form npm is told.
  const wanted = isLong()
    ? tarballs
    : tarballs.map((tarball) => `${nameOf(tarball, folder)}@file:${tarball}`);
  const { code, stderr } = run("npm", ["install", "--no-audit", "--no-fund", ...how, ...wanted], folder);
  if (code === 0) return null;
  const unreachable = isLong() ? OFFLINE.exec(stderr)?.[1] : undefined;
  if (unreachable === undefined) throw new Error(`npm install failed:\n${stderr}`);
  return `the npm registry cannot be reached (${unreachable})`;
}

type Needs = Partial<
  Record<"dependencies" | "devDependencies" | "optionalDependencies", Record<string, string>>
>;

const nameOf = (tarball: string, folder: string): string => manifestOf(tarball, folder).name;

const manifestOf = (tarball: string, folder: string): Needs & { name: string } =>
  JSON.parse(run("tar", ["-xzOf", tarball, "package/package.json"], folder).stdout) as Needs & {
    name: string;
  };

/**
 * Has npm link the installed packages that a project and the tarballs name. To unpack the 250 MB that they are with all that
 * they need in turn takes npm 15 s of a core. A package that nobody names stays unfound, as it does for a user.
 */
async function linkNeeded(project: string, tarballs: readonly string[]): Promise<void> {
  const file = path.join(project, "package.json");
  const own = JSON.parse(await readFile(file, "utf8")) as Needs;
  const linked = (needed: Record<string, string> = {}): Record<string, string> =>
    Object.fromEntries(
      Object.keys(needed)
        .map((name) => [name, path.join(root, "node_modules", name)] as const)
        .filter(([, installed]) => existsSync(installed))
        .map(([name, installed]) => [name, `file:${installed}`]),
    );
  const ofTarballs = tarballs.map((tarball) => {
    const { dependencies, optionalDependencies } = manifestOf(tarball, project);
    return linked({ ...dependencies, ...optionalDependencies });
  });
  const overrides = Object.assign({}, ...ofTarballs) as Record<string, string>;
  const devDependencies = { ...own.devDependencies, ...linked(own.devDependencies) };
  await writeFile(file, JSON.stringify({ ...own, devDependencies, overrides }));
}

/** A folder with files, and an empty package.json when none is given. */
export async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries({ "package.json": '{"private": true}', ...files })) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
}

const compiler = (name: string): string => path.join(root, "node_modules", name, "bin/tsc");

/** The newest compiler, and the oldest that the packages are checked with; both are installed here. */
export const COMPILERS = {
  new: compiler("typescript"),
  old: compiler("@arethetypeswrong/core/node_modules/typescript"),
};
