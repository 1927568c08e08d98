import { readFile, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { nodeFileTrace } from "@vercel/nft";
import type { BundleFile } from "./archive-files.ts";
import { BundleError } from "./bundle-error.ts";
import type { Externals } from "./externals.ts";
import { readBundleFile } from "./find-assets.ts";
import { findPackage, packageNameOf } from "./native-packages.ts";
import { placeOfPackage } from "./place-of-package.ts";

type Found = ReturnType<Externals["found"]>;

/** Modules that are not there: each imports what the bundle imports of packages, in both ways, from where it does. */
function entriesOf(found: Found): Map<string, string> {
  const entries = new Map<string, string>();
  for (const { specifier, from } of found) {
    const name = JSON.stringify(specifier);
    for (const [file, line] of [
      ["keelson-externals.mjs", `import ${name};\n`],
      ["keelson-externals.cjs", `require(${name});\n`],
    ] as const)
      entries.set(join(from, file), (entries.get(join(from, file)) ?? "") + line);
  }
  return entries;
}

/** Packages that are linked from outside of any `node_modules`, by their folders. */
function linkedOf(found: Found): Map<string, string> {
  const linked = new Map<string, string>();
  for (const { specifier, from } of found) {
    const name = packageNameOf(specifier);
    const root = name === null ? null : findPackage(from, name);
    if (name !== null && root !== null && placeOfPackage(root) === null) linked.set(root, name);
  }
  return linked;
}

function placeOf(file: string, linked: ReadonlyMap<string, string>): string | null {
  const place = placeOfPackage(file);
  if (place !== null) return place;
  for (const [root, name] of linked)
    if (file.startsWith(`${root}${sep}`))
      return `node_modules/${name}/${relative(root, file).split(sep).join("/")}`;
  return null;
}

/**
 * The files that packages need which are deployed as they are, with those of the packages that they need. Throws a BundleError
 * when two of them cannot have their places.
 */
export async function traceExternals(found: Found): Promise<BundleFile[]> {
  if (found.length === 0) return [];
  const entries = entriesOf(found);
  const { fileList } = await nodeFileTrace([...entries.keys()], {
    base: "/",
    readFile: async (path) => entries.get(path) ?? (await readTraced(path)),
  });
  const linked = linkedOf(found);
  const files = new Map<string, { file: string; made: BundleFile }>();
  for (const listed of [...fileList].sort((a, b) => (a < b ? -1 : 1))) {
    const file = join("/", listed);
    const place = entries.has(file) ? null : placeOf(file, linked);
    // The rest is links, folders, and descriptions of the project itself.
    if (place === null || !(await stat(file)).isFile()) continue;
    const made = await readBundleFile(file, place);
    const other = files.get(place);
    if (other !== undefined && Buffer.compare(other.made.bytes, made.bytes) !== 0)
      throw new BundleError(`Two versions of ${place} are needed`, [other.file, file]);
    files.set(place, { file, made });
  }
  return [...files.values()].map(({ made }) => made);
}

async function readTraced(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "EISDIR", "ENOTDIR"].includes(code)) return null;
    throw error;
  }
}
