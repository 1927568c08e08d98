import { readFile } from "node:fs/promises";
import { extname, relative, sep } from "node:path";
import type { Loader, Plugin } from "esbuild";

const LOADERS: Readonly<Record<string, Loader>> = {
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".jsx": "jsx",
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
};

const ASKS_WHERE_IT_IS = /\bimport\.meta\b|\b__(?:dir|file)name\b/;
const IS_MODULE = /\bimport\.meta\b|^\s*(?:import|export)\b/m;

/** Begins each file of a bundle, all of which are in one folder: places are told from there. */
export const PLACES_ROOT = `const __keelsonRoot = new URL("./", import.meta.url);`;

/** What is replaced in modules that ask where they are. */
export const PLACES = {
  "import.meta.url": "__keelsonPlace.url",
  "import.meta.dirname": "__keelsonPlace.dirname",
  "import.meta.filename": "__keelsonPlace.filename",
  __dirname: "__keelsonPlace.dirname",
  __filename: "__keelsonPlace.filename",
};

/** A path as the reference of a URL; `root` is where the project's folder is laid out. */
const toReference = (directory: string, file: string): string =>
  encodeURI(relative(directory, file).split(sep).join("/")).replace(/[?#]/g, encodeURIComponent);

const placeOf = (reference: string): string =>
  `(() => { const url = new URL(${JSON.stringify(reference)}, __keelsonRoot).href, filename = __keelsonFileURLToPath(url);` +
  ` return { url, filename, dirname: __keelsonDirname(filename) }; })()`;

const IMPORTS = `import { fileURLToPath as __keelsonFileURLToPath } from "node:url";\nimport { dirname as __keelsonDirname } from "node:path";\n`;

/**
 * Bundled, modules from many folders are one. To each that asks where it is (`import.meta.url`, `__dirname`), its place in the
 * project is told all the same: the bundler puts `__keelsonPlace` where it asks, and this gives the module one of its own. So
 * paths to assets and packages beside the code lead to them, in an archive as in the project.
 */
export const placesPlugin = (directory: string): Plugin => ({
  name: "keelson-places",
  setup(build) {
    build.onResolve({ filter: /^keelson:place\// }, ({ path }) => ({ path, namespace: "keelson-place" }));
    build.onLoad({ filter: /.*/, namespace: "keelson-place" }, ({ path }) => ({
      contents: `${IMPORTS}export const { url, filename, dirname } = ${placeOf(path.slice("keelson:place/".length))};`,
      loader: "js",
    }));
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/, namespace: "file" }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const loader = LOADERS[extname(path)];
      if (loader === undefined || !ASKS_WHERE_IT_IS.test(source)) return undefined;
      const name = JSON.stringify(`keelson:place/${toReference(directory, path)}`);
      // At the end, where it moves no line. Imports are done before the module's own code.
      if (IS_MODULE.test(source))
        return { contents: `${source}\nimport * as __keelsonPlace from ${name};`, loader };
      const place = `const __keelsonPlace = require(${name});`;
      const [first = ""] = /^#!.*\n/.exec(source) ?? [];
      return { contents: `${first}${place}${source.slice(first.length)}`, loader };
    });
  },
});
