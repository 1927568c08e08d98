import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { PLACES, PLACES_ROOT, placesPlugin } from "../../packages/cli/src/bundle/places-plugin.ts";
import { root } from "./staging.ts";

/** Programs by the package whose `dist/main.js` they are, and the names of their bundles. */
const PROGRAMS = { cli: "main", server: "server", agent: "agent" } as const;
/** What an agent starts as processes of their own: a file each, as a sandbox shows its folder and nothing beside it. */
const STARTED = ["host/main.js", "supervisor/main.js"];
/** A dependency of hundreds of files, which goes into the bundles, with its licence beside them. */
const INLINED = "typebox";

/**
 * Joins the modules of command, server and agent: a start loads a few files instead of two thousand, which was half of the time that a
 * server's start took. What an agent starts is a file each.
 *
 * @param packages the folder of the compiled packages, which import each other by relative paths
 * @param dependencies the packages that npm installs beside them
 */
export async function bundlePrograms(packages: string, dependencies: readonly string[]): Promise<void> {
  const out = path.join(packages, "cli/dist");
  const { metafile } = await build({
    absWorkingDir: packages,
    entryPoints: Object.entries(PROGRAMS).map(([part, name]) => ({ in: `${part}/dist/main.js`, out: name })),
    outdir: out,
    allowOverwrite: true,
    chunkNames: "chunk-[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node24",
    format: "esm",
    charset: "utf8",
    sourcemap: "linked",
    banner: { js: PLACES_ROOT },
    define: PLACES,
    plugins: [placesPlugin(out)],
    external: dependencies.flatMap((name) => (name === INLINED ? [] : [name, `${name}/*`])),
    nodePaths: [path.join(root, "node_modules")],
    metafile: true,
    logLevel: "error",
  });
  const written = new Set(Object.keys(metafile.outputs).map((file) => path.join(packages, file)));
  for (const map of [...written].filter((file) => file.endsWith(".map"))) nameInlined(map);
  for (const name of readdirSync(out).filter((one) => !written.has(path.join(out, one))))
    rmSync(path.join(out, name), { recursive: true });
  await joinStarted(path.join(packages, "agent/dist"));
  rmSync(path.join(packages, "server/dist"), { recursive: true });
  for (const [part, name] of Object.entries(PROGRAMS)) {
    if (part === "cli") continue;
    const folder = path.join(packages, part, "dist");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "main.js"), `import "../../cli/dist/${name}.js";\n`);
    rmSync(path.join(folder, "main.js.map"), { force: true });
  }
  copyFileSync(path.join(root, "node_modules", INLINED, "license"), path.join(out, `${INLINED}.license`));
}

/** Nothing else of the agent's folder is asked for afterwards. */
async function joinStarted(folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: STARTED,
    outbase: ".",
    outdir: ".",
    allowOverwrite: true,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    charset: "utf8",
    sourcemap: "linked",
    metafile: true,
    logLevel: "error",
  });
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (/\.js(\.map)?$/.test(name) && !(name in metafile.outputs)) rmSync(path.join(folder, name));
}

/** A map names what was inlined as it lies in an installation, not where it was when this was built. */
function nameInlined(file: string): void {
  const map = JSON.parse(readFileSync(file, "utf8")) as { sources: string[] };
  map.sources = map.sources.map((source) => source.replace(/^.*\/node_modules\//, "../../../node_modules/"));
  writeFileSync(file, JSON.stringify(map));
}
