import { dirname, join } from "node:path";
import type { BuildOptions, Message, Plugin } from "esbuild";
import { BundleError } from "./bundle-error.ts";

const ENTRY = "keelson:entry";

export type BundleSource = {
  /** The project: where its packages are found, and what paths in the bundle are relative to. */
  directory: string;
  /** The files that declare tasks, relative to `directory`. Asked again at each rebuild. */
  findFiles: () => Promise<readonly string[]>;
};

/**
 * The entry is made up: it loads every task file for what it declares, then exports what a task host looks for.
 * The files count as having side effects even in a package that says its files have none.
 */
function entryPlugin({ directory, findFiles }: BundleSource): Plugin {
  return {
    name: "keelson-entry",
    setup(build) {
      build.onResolve({ filter: /^keelson:entry$/ }, () => ({ path: ENTRY, namespace: "keelson" }));
      build.onResolve({ filter: /^keelson:task\// }, ({ path }) => ({
        path: join(directory, path.slice("keelson:task/".length)),
        sideEffects: true,
      }));
      build.onLoad({ filter: /.*/, namespace: "keelson" }, async () => {
        try {
          const files = await findFiles();
          const imports = files.map((file) => `import ${JSON.stringify(`keelson:task/${file}`)};`);
          return {
            contents: [...imports, `export { keelson } from "@keelson/sdk/runtime";`].join("\n"),
            resolveDir: directory,
            // A new file, or another pattern in package.json, changes the entry.
            watchDirs: [...new Set(files.map((file) => join(directory, dirname(file))))],
            watchFiles: [join(directory, "package.json")],
          };
        } catch (error) {
          if (!(error instanceof BundleError)) throw error;
          return {
            errors: [{ text: error.message }],
            watchFiles: [join(directory, "package.json")],
            watchDirs: [directory],
          };
        }
      });
    },
  };
}

/** CommonJS packages ask for built-in modules by `require`, and some for their folder. The names are ours, so that the project's own are free. */
const BANNER = [
  `import { createRequire as __keelsonCreateRequire } from "node:module";`,
  `globalThis.require ??= __keelsonCreateRequire(import.meta.url.startsWith("file:") ? import.meta.url : "file:///");`,
  `const __keelsonDirname = import.meta.dirname ?? "/", __keelsonFilename = import.meta.filename ?? "/bundle.mjs";`,
].join("");

/** Run from its sources, this package's neighbours are sources too. */
const FROM_SOURCE = import.meta.url.endsWith(".ts");

export function bundleOptions(source: BundleSource) {
  return {
    absWorkingDir: source.directory,
    entryPoints: [ENTRY],
    outfile: join(source.directory, "bundle.mjs"),
    plugins: [entryPlugin(source)],
    bundle: true,
    write: false,
    platform: "node",
    target: "node24",
    format: "esm",
    charset: "utf8",
    sourcemap: "inline",
    sourcesContent: true,
    banner: { js: BANNER },
    define: { __dirname: "__keelsonDirname", __filename: "__keelsonFilename" },
    conditions: FROM_SOURCE ? ["@keelson/source"] : [],
    logLevel: "silent",
  } as const satisfies BuildOptions;
}

/** One message of the bundler as `file:line:column: what`. */
export function describeMessage({ text, location, notes }: Message): string {
  const place = location === null ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  const hint = notes[0]?.text;
  return `${place}${text}${hint === undefined ? "" : ` (${hint})`}`;
}
