// The programs that tests start as processes of their own, and the sources that test files load, bundled from today's
// sources. A process that loads few files starts in a third of the time that it takes for the hundreds that they are made of.

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { listSources, loadEntries, sourceEntries, STAND_INS, standIns } from "./bundled-sources.ts";
import { ROOT } from "./select-files.ts";

const PROGRAMS = ["agent/src/main.ts", "cli/src/main.ts", "server/src/main.ts"];
/** In the checkout: what is not bundled is found from there. One place, so that compiled code is found again. */
const FOLDER = path.join(ROOT, "node_modules/.cache/test-programs");
const PACKAGES = path.join(ROOT, "packages");
/** No run takes so long. */
const OLD_MS = 24 * 3_600_000;

/** Of what is installed, only this is bundled: it is 370 files, and no CommonJS. */
const isBundled = (name: string): boolean => name.startsWith("@keelson/") || /^typebox(\/|$)/.test(name);

/** Each module keeps its own place, by which it finds what lies beside it. */
const KEEP_PLACES: Plugin = {
  name: "keep-places",
  setup(building) {
    building.onResolve({ filter: /^[^./]/ }, ({ kind, path: name }) =>
      kind === "entry-point" || isBundled(name) ? undefined : { path: name, external: true },
    );
    building.onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      if (!text.includes("import.meta.")) return undefined;
      const place = { url: pathToFileURL(file).href, dirname: path.dirname(file) };
      // In its first line, so that all keep their numbers.
      return {
        loader: "ts",
        contents: `const modulePlace = ${JSON.stringify(place)}; ${withoutHashbang(text)}`,
      };
    });
  },
};

const withoutHashbang = (text: string): string => text.replace(/^#!.*/, "");

/** @returns the folder: `agent/src/main.mjs` in it is the agent */
export async function bundlePrograms(): Promise<string> {
  const sources = listSources();
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...PROGRAMS.map((program) => programEntry(program)), ...sourceEntries(sources)],
    outdir: FOLDER,
    outExtension: { ".js": ".mjs" },
    ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "node24" },
    ...{ sourcemap: "linked", sourcesContent: false, keepNames: true },
    conditions: ["@keelson/source"],
    define: { "import.meta.url": "modulePlace.url", "import.meta.dirname": "modulePlace.dirname" },
    plugins: [loadEntries(sources), KEEP_PLACES],
    write: false,
    logLevel: "warning",
  });
  for (const { path: file, contents } of outputFiles) await write(file, contents);
  const texts = await standIns(sources, FOLDER);
  await write(path.join(FOLDER, STAND_INS), JSON.stringify(texts));
  await removeOld();
  return FOLDER;
}

const programEntry = (program: string): { in: string; out: string } => ({
  in: path.join(PACKAGES, program),
  out: program.replace(/\.ts$/, ""),
});

async function write(file: string, contents: string | Uint8Array): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const written = `${file}.${process.pid}`;
  await writeFile(written, contents);
  // Another run of this checkout may be loading the last one.
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
