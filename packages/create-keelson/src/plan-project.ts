import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { mergeGitignore, mergePackageFile } from "./merge-package-file.ts";
import { configText, TASK, taskTestText, tsconfigText } from "./templates.ts";
import { VERSION } from "./version.ts";

/** A file of the plan. `text` is what it will be. */
export type PlannedFile = { name: string; action: "create" | "change" | "keep"; text: string };

export type Plan = { directory: string; isNew: boolean; taskFolder: string; files: readonly PlannedFile[] };

/** Of what a new project installs besides ours. */
const TOOLS = { "@types/node": "^24.0.0", typescript: "^7.0.0" };

const CONFIG_FILES = ["ts", "mts", "js", "mjs"].map((extension) => `keelson.config.${extension}`);

/** The folder's name as a project's slug. */
export const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "app";

const readText = (file: string): string | null => (existsSync(file) ? readFileSync(file, "utf8") : null);

const OURS = { dependencies: { "@keelson/sdk": `^${VERSION}` }, devDependencies: { keelson: `^${VERSION}` } };

function planPackageFile(text: string | null, slug: string, scripts: Record<string, string>): string {
  if (text !== null) return mergePackageFile(text, { ...OURS, scripts });
  const start = JSON.stringify({ name: slug, version: "0.0.0", private: true, type: "module" });
  // An existing project chose its own compiler, or none.
  return mergePackageFile(start, {
    ...OURS,
    scripts,
    devDependencies: { ...OURS.devDependencies, ...TOOLS },
  });
}

/** In an existing project names like `dev` are taken, or will be. */
function scriptsOf(isNew: boolean, taskFolder: string): Record<string, string> {
  const prefix = isNew ? "" : "keelson:";
  const commands = ["up", "dev", "deploy"].map((name) => [`${prefix}${name}`, `keelson ${name}`]);
  return {
    ...(Object.fromEntries(commands) as Record<string, string>),
    ...(isNew && { typecheck: "tsc --noEmit" }),
    [`${prefix}test`]: `node --test "${taskFolder}/**/*.test.${isNew ? "ts" : "mjs"}"`,
  };
}

/**
 * What makes a folder a Keelson project; nothing is written. Files that are there stay, except package.json and .gitignore,
 * which get what they lack. A project with a configuration gets no first task again.
 *
 * @throws Error when package.json is not JSON
 */
export function planProject(directory: string): Plan {
  const slug = toSlug(path.basename(path.resolve(directory)));
  const at = (name: string): string => path.join(directory, name);
  const packageFile = readText(at("package.json"));
  const isNew = packageFile === null;
  const taskFolder = isNew || existsSync(at("src")) ? "src/tasks" : "tasks";
  const extension = isNew || isModule(packageFile) ? "ts" : "mts";
  const config = CONFIG_FILES.find((name) => existsSync(at(name)));
  const scripts = config === undefined ? scriptsOf(isNew, taskFolder) : {};
  const ignored = readText(at(".gitignore"));
  const firstFiles: Record<string, string> =
    config === undefined
      ? {
          ...firstConfig(slug, taskFolder, extension, readText(at("tsconfig.json"))),
          ...firstTask(isNew, taskFolder, extension, existsSync(at("tsconfig.json"))),
        }
      : { [config]: "" };
  return {
    directory,
    isNew,
    taskFolder,
    files: [
      planMerge(
        "package.json",
        packageFile,
        readable(at("package.json"), () => planPackageFile(packageFile, slug, scripts)),
      ),
      ...Object.entries(firstFiles).map(([name, text]): PlannedFile => {
        return { name, action: existsSync(at(name)) ? "keep" : "create", text };
      }),
      planMerge(".gitignore", ignored, mergeGitignore(ignored ?? "", ["node_modules/", ".keelson/"])),
    ],
  };
}

function planMerge(name: string, before: string | null, text: string): PlannedFile {
  return { name, action: before === null ? "create" : before === text ? "keep" : "change", text };
}

/** Whether a package's files are ES modules unless their names say otherwise. */
const isModule = (packageFile: string): boolean => /"type"\s*:\s*"module"/.test(packageFile);

/** As JavaScript where a compiler takes only files below `rootDir`: it does not look at this one then. */
function firstConfig(
  slug: string,
  taskFolder: string,
  extension: string,
  tsconfig: string | null,
): Record<string, string> {
  const pattern = `${taskFolder}/**/*.${extension === "ts" ? "ts" : "{ts,mts}"}`;
  const hasRoot = /"rootDir"\s*:/.test(tsconfig ?? "");
  return { [`keelson.config.${hasRoot ? "mjs" : extension}`]: configText(slug, pattern) };
}

/** The first task with its test, and what a compiler needs for both. */
function firstTask(
  isNew: boolean,
  taskFolder: string,
  extension: string,
  hasTsconfig: boolean,
): Record<string, string> {
  // Not at the root of an existing project: there it would change how other tools treat the project.
  const tsconfig: Record<string, string> =
    isNew || hasTsconfig
      ? { "tsconfig.json": tsconfigText(["src", "keelson.config.ts"]) }
      : { [`${taskFolder}/tsconfig.json`]: tsconfigText(["."]) };
  return {
    ...tsconfig,
    [`${taskFolder}/hello.${extension}`]: TASK,
    // As JavaScript in an existing project, whose compiler may refuse an import that ends in .ts.
    [`${taskFolder}/hello.test.${isNew ? "ts" : "mjs"}`]: taskTestText(extension),
  };
}

function readable(file: string, read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error(`${file} is not JSON: ${error.message}. Correct the file and try again.`, {
      cause: error,
    });
  }
}
