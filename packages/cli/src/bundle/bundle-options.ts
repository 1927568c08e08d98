import { dirname, join } from "node:path";
import type { BuildOptions, Message, Plugin } from "esbuild";
import type { ProjectConfig } from "@keelson/sdk";
import { findConfigFile } from "../project/project-folder.ts";
import { BundleError } from "./bundle-error.ts";
import type { Externals } from "./externals.ts";
import { PLACES, PLACES_ROOT, placesPlugin } from "./places-plugin.ts";

const ENTRY = "keelson:entry";

/** The module of an archive that a task host imports, beside the project's folders. */
export const ENTRY_FILE = "bundle.mjs";

export type BundleSource = {
  /** The project: where its packages are found, and what paths in the bundle are relative to. */
  directory: string;
  /** The files that declare tasks, relative to `directory`. Asked again at each rebuild. */
  findFiles: () => Promise<readonly string[]>;
  /** Folders in which a new file changes what is found, relative to `directory`. Asked again at each rebuild. */
  findFolders: () => Promise<readonly string[]>;
  /** Files that are deployed as they are, relative to `directory`. Asked again at each rebuild. */
  findAssets: () => Promise<readonly string[]>;
  /** Packages that are deployed as they are, besides those with native code. Asked again at each rebuild. */
  findExternals: () => Promise<readonly string[]>;
  /** How files that are no code are imported, by extension. */
  loader: NonNullable<NonNullable<ProjectConfig["build"]>["loader"]>;
};

/** Where the patterns of the task files stand. */
const settingsFiles = (directory: string): string[] => {
  const file = findConfigFile(directory);
  return [join(directory, "package.json"), ...(file === null ? [] : [file])];
};

/**
 * The entry is made up: it loads every task file for what it declares, then exports what a task host looks for.
 * The files count as having side effects even in a package that says its files have none.
 */
function entryPlugin({ directory, findFiles, findFolders, findAssets }: BundleSource): Plugin {
  return {
    name: "keelson-entry",
    setup(build) {
      build.onResolve({ filter: /^keelson:entry$/ }, () => ({ path: ENTRY, namespace: "keelson" }));
      build.onResolve({ filter: /^keelson:task\// }, ({ path }) => ({
        path: join(directory, path.slice("keelson:task/".length)),
        sideEffects: true,
      }));
      build.onLoad({ filter: /^keelson:entry$/, namespace: "keelson" }, async () => {
        const folders = (await findFolders()).map((folder) => join(directory, folder));
        try {
          const files = await findFiles();
          const assets = await findAssets();
          const imports = files.map((file) => `import ${JSON.stringify(`keelson:task/${file}`)};`);
          return {
            // The runtime first: a Client that a module makes for itself must find that a worker runs its code.
            contents: [`export { keelson } from "@keelson/sdk/runtime";`, ...imports].join("\n"),
            resolveDir: directory,
            // A new file, or another pattern in the configuration, changes the entry.
            watchDirs: [
              ...new Set([
                ...folders,
                ...[...files, ...assets].map((file) => join(directory, dirname(file))),
              ]),
            ],
            watchFiles: [...settingsFiles(directory), ...assets.map((file) => join(directory, file))],
          };
        } catch (error) {
          if (!(error instanceof BundleError)) throw error;
          return {
            errors: [{ text: error.message }],
            watchFiles: settingsFiles(directory),
            // A file that is missing may come, and a configuration file may be added.
            watchDirs: [...new Set([directory, ...folders])],
          };
        }
      });
    },
  };
}

/** CommonJS packages ask for built-in modules by `require`. The names are ours, so that the project's own are free. */
const BANNER = [
  `import { createRequire as __keelsonCreateRequire } from "node:module";`,
  `globalThis.require ??= __keelsonCreateRequire(import.meta.url);`,
  PLACES_ROOT,
].join("");

/** Run from its sources, this package's neighbours are sources too. */
export const FROM_SOURCE = import.meta.url.endsWith(".ts");

export function bundleOptions(source: BundleSource, externals: Externals) {
  return {
    absWorkingDir: source.directory,
    entryPoints: [{ in: ENTRY, out: ENTRY_FILE.replace(/\.mjs$/, "") }],
    outdir: source.directory,
    outExtension: { ".js": ".mjs" },
    // All in one folder, from which the places of sources are told.
    chunkNames: "bundle-[hash]",
    plugins: [entryPlugin(source), externals.plugin, placesPlugin(source.directory)],
    bundle: true,
    splitting: true,
    write: false,
    platform: "node",
    target: "node24",
    format: "esm",
    charset: "utf8",
    sourcemap: "linked",
    sourcesContent: true,
    banner: { js: BANNER },
    define: PLACES,
    conditions: FROM_SOURCE ? ["@keelson/source"] : [],
    loader: source.loader,
    logLevel: "silent",
  } as const satisfies BuildOptions;
}

/** One message of the bundler as `file:line:column: what`. */
export function describeMessage({ text, location, notes }: Message): string {
  const place = location === null ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  const hint = hintOf(text, notes[0]?.text);
  return `${place}${text}${hint === undefined ? "" : ` (${hint})`}`;
}

const PACKAGE = /^Could not resolve "((?:@[\w.-]+\/)?\w[\w.-]*)(?:\/[^"]*)?"$/;

/** The bundler tells how to leave a missing package out; whoever imports it wants it in. */
function hintOf(text: string, note: string | undefined): string | undefined {
  const [, name] = PACKAGE.exec(text) ?? [];
  return name !== undefined && note?.startsWith("You can mark the path")
    ? `install it with \`npm install ${name}\`, or correct the name`
    : note;
}
