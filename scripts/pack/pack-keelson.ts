import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundlePrograms } from "./bundle-programs.ts";
import { rewriteImports } from "./rewrite-imports.ts";
import { openStaging, packFolder, readPackage, root, writePackageFile } from "./staging.ts";

/** The packages that the command is made of. They stay apart in the tarball, so that each finds its files as in a checkout. */
const PARTS = ["cli", "server", "agent", "sdk", "contract", "workspace-tree", "create-keelson"] as const;

/** The compiled file of `@keelson/sdk/runtime` and the like, relative to the packages' folder. */
function resolvePart(specifier: string): string | null {
  const [, name, entry] = /^@keelson\/([a-z-]+)(\/.+)?$/.exec(specifier) ?? [];
  if (name === undefined) return null;
  const { exports } = readPackage(`packages/${name}`) as { exports?: Record<string, { default: string }> };
  const file = exports?.[`.${entry ?? ""}`]?.default;
  if (file === undefined || !(PARTS as readonly string[]).includes(name))
    throw new Error(`${specifier} is imported and not part of the tarball: see PARTS.`);
  return path.join(name, file);
}

/** Copies what is compiled; imports of our packages become relative, so that no package manager has to find them. */
function copyPart(part: string, packages: string): void {
  const from = path.join(root, "packages", part, "dist");
  for (const name of readdirSync(from, { recursive: true, encoding: "utf8" })) {
    // Of sources that are there no more, an older build may have left files.
    const source = name.replace(/\.js(\.map)?$/, ".ts");
    if (source === name || name.includes(".test.") || !existsSync(path.join(from, "../src", source)))
      continue;
    const target = path.join(packages, part, "dist", name);
    mkdirSync(path.dirname(target), { recursive: true });
    const text = readFileSync(path.join(from, name), "utf8");
    const change = (specifier: string): string => {
      const file = resolvePart(specifier);
      if (file === null) return specifier;
      return path.relative(path.dirname(target), path.join(packages, file)).split(path.sep).join("/");
    };
    writeFileSync(target, name.endsWith(".js") ? rewriteImports(name, text, change) : text);
  }
  // What the code reads of its package.
  const { version } = readPackage(`packages/${part}`);
  writeFileSync(
    path.join(packages, part, "package.json"),
    `${JSON.stringify({ version, type: "module" }, null, 2)}\n`,
  );
}

const isOurs = (name: string): boolean => name.startsWith("@keelson/");

/** What the parts need from outside; a version that two name is the same, because one lock file has it. */
function collect(kind: "dependencies" | "optionalDependencies"): Record<string, string> {
  const all = PARTS.flatMap((part) => Object.entries(readPackage(`packages/${part}`)[kind] ?? {}));
  return Object.fromEntries(all.filter(([name]) => !isOurs(name)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Lays out the command with server, agent and console in an empty folder as it is installed, from what is compiled and built. */
export async function layOutKeelson(folder: string): Promise<void> {
  const packages = path.join(folder, "packages");
  for (const part of PARTS) copyPart(part, packages);
  const dependencies = collect("dependencies");
  const optionalDependencies = collect("optionalDependencies");
  await bundlePrograms(packages, Object.keys({ ...dependencies, ...optionalDependencies }));
  cpSync(path.join(root, "packages/cli/bin"), path.join(packages, "cli/bin"), { recursive: true });
  cpSync(path.join(root, "packages/console/dist"), path.join(packages, "console/dist"), { recursive: true });
  cpSync(path.join(root, "migrations"), path.join(packages, "server/migrations"), { recursive: true });
  cpSync(path.join(root, "packages/cli/README.md"), path.join(folder, "README.md"));
  const { optionalDependencies: nodes } = readPackage(".");
  writePackageFile(folder, {
    name: "keelson",
    version: readPackage("packages/cli").version,
    description:
      "A self-hosted control plane for durable tasks and agents: server, worker, console and command.",
    bin: { keelson: "packages/cli/bin/keelson.mjs" },
    exports: { "./package.json": "./package.json" },
    files: ["packages"],
    dependencies,
    optionalDependencies: { ...optionalDependencies, ...nodes },
  });
}

/** Returns the tarball's path. */
export async function packKeelson(): Promise<string> {
  const folder = openStaging("keelson");
  await layOutKeelson(folder);
  return packFolder(folder);
}
