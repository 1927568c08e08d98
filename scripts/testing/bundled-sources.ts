// The sources that most test files load, as two files: to find, read and link their 700 modules takes half a second of
// processor, in each of 300 processes.

import { globSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "esbuild";
import { ROOT } from "./select-files.ts";

/** Beside them: what stands for each module. */
export const STAND_INS = "stand-ins.json";

/** The name of such a file among what is bundled, and the modules that are in it. */
type Sources = Readonly<Record<string, readonly string[]>>;

/** How a module of ours is named in the bundle: `packages/server/src/config.ts` is `packages_server_src_config_ts`. */
const nameOf = (module: string): string => path.relative(ROOT, module).replaceAll(/\W/g, "_");

/** Programs do something as soon as they are loaded. */
const listModules = (name: string): string[] =>
  globSync(`packages/${name}/src/**/*.ts`, { cwd: ROOT })
    .filter((file) => !file.endsWith(".test.ts") && path.basename(file) !== "main.ts")
    .map((file) => path.join(ROOT, file))
    .toSorted();

const packageFile = (file: string): string => path.join(ROOT, "node_modules", file);

/** What schemas are made with is one for all, too, and what calls PostgreSQL, as tests listen to it. */
export const listSources = (): Sources => ({
  agent: listModules("agent"),
  contract: [...listModules("contract"), packageFile("typebox/build/index.mjs")],
  server: [...listModules("server"), packageFile("pg/esm/index.mjs")],
  "workspace-tree": listModules("workspace-tree"),
});

const SCHEME = "sources:";

/** An entry for each file: all its modules, each under its name. */
export const sourceEntries = (sources: Sources): { in: string; out: string }[] =>
  Object.keys(sources).map((name) => ({ in: `${SCHEME}${name}`, out: name }));

export const loadEntries = (sources: Sources): Plugin => ({
  name: "source-entries",
  setup(building) {
    building.onResolve({ filter: new RegExp(`^${SCHEME}`) }, (entry) => ({
      path: entry.path.slice(SCHEME.length),
      namespace: SCHEME,
    }));
    building.onLoad({ filter: /.*/, namespace: SCHEME }, ({ path: name }) => ({
      contents: (sources[name] ?? [])
        .map((module) => `export * as ${nameOf(module)} from ${JSON.stringify(module)};`)
        .join("\n"),
      resolveDir: ROOT,
    }));
  },
});

/** @returns by the URL of each module a text that stands for it: what it exports is the bundle's */
export async function standIns(sources: Sources, folder: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [name, modules] of Object.entries(sources)) {
    const file = pathToFileURL(path.join(folder, `${name}.js`)).href;
    const bundle = (await import(file)) as Record<string, object>;
    for (const module of modules) {
      const { default: whole, ...named } = bundle[nameOf(module)] as Record<string, unknown>;
      texts[pathToFileURL(module).href] = [
        `import { ${nameOf(module)} as all } from ${JSON.stringify(file)};`,
        `export const { ${Object.keys(named).join(", ")} } = all;`,
        ...(whole === undefined ? [] : ["export default all.default;"]),
      ].join("\n");
    }
  }
  return texts;
}
