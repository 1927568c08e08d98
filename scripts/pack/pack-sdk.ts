import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { placeSources } from "./place-sources.ts";
import { rewriteImports } from "./rewrite-imports.ts";
import { openStaging, packFolder, readPackage, root, writePackageFile } from "./staging.ts";

/** An entry's file in `src` and in the tarball's `dist`, without extension. */
const ENTRIES: Record<string, string> = {
  ".": "index",
  "./browser": "browser",
  "./browser/files": "browser-files",
  "./client": "client",
  "./ai": "ai/chat",
  "./ai/client": "ai/client",
  "./ai/react": "ai/react",
  "./ai/server": "ai/server",
  "./react": "react",
  "./runtime": "runtime/index",
  "./server": "server",
  "./testing": "testing",
};

/** Entries that must run where there is no Node. */
const WITHOUT_NODE = [
  "index",
  "browser",
  "browser-files",
  "client",
  "ai/client",
  "ai/react",
  "ai/server",
  "react",
  "server",
];

/** Packages that a user installs who uses the entries that need them. */
const PEERS = Object.keys(readPackage("packages/sdk").peerDependencies ?? {});

/** Packages whose types the declarations name. No code of them is imported: what runs is bundled. */
const TYPE_PACKAGES = ["@standard-schema/spec", "typebox"] as const;

/** The folder of a declaration in `dist`, by the package that it comes from. */
const FOLDERS: Record<string, string> = { sdk: "", contract: "contract" };

async function bundleCode(folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: path.join(root, "packages/sdk"),
    entryPoints: Object.values(ENTRIES).map((name) => `src/${name}.ts`),
    outdir: path.join(folder, "dist"),
    outbase: "src",
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[name]-[hash]",
    format: "esm",
    platform: "neutral",
    target: "es2022",
    charset: "utf8",
    mainFields: ["module", "main"],
    conditions: ["@keelson/source"],
    external: ["node:*", ...PEERS],
    sourcemap: "linked",
    sourcesContent: true,
    metafile: true,
    logLevel: "silent",
  });
  placeSources(path.join(folder, "dist"));
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([file, output]) => [
      path.resolve(root, "packages/sdk", file),
      output,
    ]),
  );
  for (const name of WITHOUT_NODE) refuseNode(path.join(folder, "dist", `${name}.js`), outputs);
}

type Outputs = Map<string, { imports: { path: string; external?: boolean }[] }>;

/** Throws when an entry for all platforms imports a module of Node, itself or by a shared part. */
function refuseNode(entry: string, outputs: Outputs, seen = new Set<string>()): void {
  if (seen.has(entry)) return;
  seen.add(entry);
  for (const { path: imported, external } of outputs.get(entry)?.imports ?? []) {
    if (external && PEERS.includes(imported)) continue;
    if (external)
      throw new Error(`${entry} imports ${imported}, which other platforms than Node do not have.`);
    refuseNode(path.resolve(root, "packages/sdk", imported), outputs, seen);
  }
}

type Declaration = { source: string; target: string };

/** `packages/sdk/dist/task.d.ts` → `dist/task.d.ts`; the contract's below `dist/contract`. */
function placeDeclaration(source: string): string {
  const [, name = "", , ...rest] = path.relative(root, source).split(path.sep);
  const below = FOLDERS[name];
  if (below === undefined)
    throw new Error(`The SDK's declarations name ${source}, of a package that is not theirs.`);
  return path.join("dist", below, ...rest);
}

/** The declaration that a specifier means, or null for a package from outside. */
function resolveDeclaration(from: string, specifier: string): string | null {
  if (specifier.startsWith("."))
    return path.resolve(path.dirname(from), specifier.replace(/\.[jt]s$/, ".d.ts"));
  const contract = /^@keelson\/contract(?:\/(\w+))?$/.exec(specifier);
  if (contract === null) return null;
  return path.join(root, "packages/contract/dist", `${contract[1] ?? "index"}.d.ts`);
}

/** Copies what the entries' declarations reach, each import by a relative path that ends in `.js`. */
function copyDeclarations(folder: string): void {
  const toDeclaration = (source: string): Declaration => ({ source, target: placeDeclaration(source) });
  const queue = Object.values(ENTRIES).map((name) =>
    toDeclaration(path.join(root, "packages/sdk/dist", `${name}.d.ts`)),
  );
  const done = new Set<string>();
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { source, target } = next;
    if (done.has(source)) continue;
    done.add(source);
    if (!existsSync(source)) throw new Error(`${source} is not there: it is named by another declaration.`);
    const text = rewriteImports(source, readFileSync(source, "utf8"), (specifier) => {
      const found = resolveDeclaration(source, specifier);
      if (found === null) return checkExternal(source, specifier);
      const imported = toDeclaration(found);
      queue.push(imported);
      const relative = path.relative(path.dirname(target), imported.target).split(path.sep).join("/");
      return `${relative.startsWith(".") ? "" : "./"}${relative.replace(/\.d\.ts$/, ".js")}`;
    });
    const to = path.join(folder, target);
    mkdirSync(path.dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
}

function checkExternal(source: string, specifier: string): string {
  const known: readonly string[] = [...TYPE_PACKAGES, ...PEERS];
  if (specifier.startsWith("node:") || known.includes(specifier)) return specifier;
  throw new Error(
    `${source} names ${specifier}: add the package to TYPE_PACKAGES, so that users get its types.`,
  );
}

function typeDependencies(): Record<string, string> {
  const known = {
    ...readPackage("packages/contract").dependencies,
    ...readPackage("packages/sdk").dependencies,
  };
  return Object.fromEntries(TYPE_PACKAGES.map((name) => [name, known[name] as string]));
}

/** The SDK with the contract in it. Returns the tarball's path. */
export async function packSdk(): Promise<string> {
  const folder = openStaging("sdk");
  const { version, peerDependencies, peerDependenciesMeta } = readPackage("packages/sdk");
  await bundleCode(folder);
  copyDeclarations(folder);
  cpSync(path.join(root, "packages/sdk/README.md"), path.join(folder, "README.md"));
  writePackageFile(folder, {
    name: "@keelson/sdk",
    version,
    description: "Write durable tasks, and call a Keelson server.",
    sideEffects: false,
    // For compilers that resolve as Node did before it knew exports.
    main: "./dist/index.js",
    types: "./dist/index.d.ts",
    exports: Object.fromEntries(
      Object.entries(ENTRIES).map(([entry, file]) => [
        entry,
        { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
      ]),
    ),
    files: ["dist"],
    dependencies: typeDependencies(),
    peerDependencies,
    peerDependenciesMeta,
  });
  return packFolder(folder);
}
