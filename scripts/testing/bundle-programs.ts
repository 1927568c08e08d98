// The programs that tests start as processes of their own, and the sources that test files load, bundled from today's
// sources. A process that loads few files starts in a third of the time that it takes for the hundreds that they are made of.

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build, type OutputFile, type Plugin } from "esbuild";
import { listSources, loadEntries, sourceEntries, STAND_INS, standIns } from "./bundled-sources.ts";
import { ROOT } from "./select-files.ts";

const PROGRAMS = ["agent/src/main.ts", "cli/src/main.ts", "server/src/main.ts"];
/** What an agent starts: one file each, as a sandbox shows a task its host's folder and nothing beside it. */
const AGENT_PROGRAMS = ["agent/src/host/main.ts", "agent/src/supervisor/main.ts"];
/** In the checkout: what is not bundled is found from there. One place, so that compiled code is found again. */
const FOLDER = path.join(ROOT, "node_modules/.cache/test-programs");
const PACKAGES = path.join(ROOT, "packages");
/** No run takes so long. */
const OLD_MS = 24 * 3_600_000;

/**
 * What is bundled of what is installed: what every start of a program loads, with all that it needs. To find and read its 400
 * files takes a fifth of a start.
 */
const BUNDLED = /^(@keelson|typebox|fastify|ajv|ajv-formats|pg|pino|prom-client|commander|croner)(\/|$)/;
/** What `pg` asks for in vain here. */
const ABSENT = /^(pg-native|pg-cloudflare)$/;

const isBundled = (name: string, importer: string): boolean =>
  BUNDLED.test(name) || (importer.includes("/node_modules/") && !isBuiltin(name) && !ABSENT.test(name));

/** What is bundled of CommonJS asks for parts of Node by `require`. */
const REQUIRE = `import { createRequire as makeRequire } from "node:module"; const require = makeRequire(${JSON.stringify(pathToFileURL(`${FOLDER}/`).href)});`;

/** A module that starts a program of ours looks for it beside itself: `main.js` when it is compiled, as it is here. */
const STARTS_PROGRAM = /\bmain\.js"/;

/** Where a module says that it is: where its source is, by which it finds what lies beside it, or among the programs. */
const placeOf = (file: string, text: string): string =>
  STARTS_PROGRAM.test(text) ? path.join(FOLDER, path.relative(PACKAGES, file)).replace(/\.ts$/, ".js") : file;

const KEEP_PLACES: Plugin = {
  name: "keep-places",
  setup(building) {
    building.onResolve({ filter: /^[^./]/ }, ({ kind, path: name, importer }) =>
      kind === "entry-point" || isBundled(name, importer) ? undefined : { path: name, external: true },
    );
    building.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      if (!text.includes("import.meta.")) return undefined;
      const own = placeOf(file, text);
      const place = { url: pathToFileURL(own).href, dirname: path.dirname(own) };
      // In its first line, so that all keep their numbers.
      return {
        loader: "ts",
        contents: `const modulePlace = ${JSON.stringify(place)}; ${withoutHashbang(text)}`,
      };
    });
  },
};

const withoutHashbang = (text: string): string => text.replace(/^#!.*/, "");

/** @returns the folder: `agent/src/main.js` in it is the agent */
export async function bundlePrograms(): Promise<string> {
  const sources = listSources();
  const built = await Promise.all([
    buildFiles([...PROGRAMS.map(programEntry), ...sourceEntries(sources)], true, [loadEntries(sources)]),
    buildFiles(AGENT_PROGRAMS.map(programEntry), false),
  ]);
  await keep(path.join(FOLDER, "package.json"), '{ "type": "module" }\n');
  for (const { path: file, contents } of built.flat()) await keep(file, contents);
  await keep(path.join(FOLDER, STAND_INS), JSON.stringify(await standIns(sources, FOLDER)));
  await removeOld();
  return FOLDER;
}

type Entry = { in: string; out: string };

const programEntry = (program: string): Entry => ({
  in: path.join(PACKAGES, program),
  out: program.replace(/\.ts$/, ""),
});

async function buildFiles(
  entryPoints: Entry[],
  splitting: boolean,
  plugins: readonly Plugin[] = [],
): Promise<OutputFile[]> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints,
    outdir: FOLDER,
    ...{ bundle: true, splitting, format: "esm", platform: "node", target: "node24" },
    ...{ sourcemap: "linked", sourcesContent: false, keepNames: true },
    conditions: ["@keelson/source"],
    define: { "import.meta.url": "modulePlace.url", "import.meta.dirname": "modulePlace.dirname" },
    banner: { js: REQUIRE },
    plugins: [...plugins, KEEP_PLACES],
    write: false,
    logLevel: "warning",
  });
  return outputFiles;
}

/** Another run of this checkout may be loading the last one. */
async function keep(file: string, contents: string | Uint8Array): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const written = `${file}.${process.pid}`;
  await writeFile(written, contents);
  await rename(written, file);
}

/** Chunks of sources that have changed since: each run writes its own anew. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(FOLDER)) {
    const file = path.join(FOLDER, name);
    const found = await stat(file).catch(() => null);
    if (found?.isFile() === true && Date.now() - found.mtimeMs > OLD_MS) await rm(file, { force: true });
  }
}
