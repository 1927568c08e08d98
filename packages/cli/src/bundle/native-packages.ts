import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

type PackageFile = { optionalDependencies?: Record<string, string>; os?: unknown; cpu?: unknown };

/** Folders below a package's own in which binaries are: `build/Release`, `prebuilds/linux-x64`. */
const DEPTH = 3;

/** `@scope/name` or `name` of an import; null when it is none of a package. */
export function packageNameOf(specifier: string): string | null {
  const [, name = null] = /^((?:@[^/@\s]+\/)?[^/@.:\s][^/:\s]*)(?:\/|$)/.exec(specifier) ?? [];
  return name;
}

/** The folder of a package as code in `from` finds it, without links; null when it is not installed. */
export function findPackage(from: string, name: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, "node_modules", name);
    if (existsSync(join(place, "package.json"))) return realpathSync(place);
    if (dirname(folder) === folder) return null;
  }
}

function readPackageFile(folder: string): PackageFile {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageFile;
  } catch {
    return {}; // Who imports it is told why it cannot be.
  }
}

function hasAddon(folder: string, depth: number): boolean {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.some(
    (entry) =>
      (entry.isFile() && entry.name.endsWith(".node")) ||
      (depth > 0 &&
        entry.isDirectory() &&
        entry.name !== "node_modules" &&
        hasAddon(join(folder, entry.name), depth - 1)),
  );
}

/** Its binaries are in packages of their own, of which npm installs those for this machine. */
function hasPlatformPackages(folder: string): boolean {
  const names = Object.keys(readPackageFile(folder).optionalDependencies ?? {});
  return names.some((name) => {
    const found = findPackage(folder, name);
    const { os, cpu } = found === null ? {} : readPackageFile(found);
    return os !== undefined || cpu !== undefined;
  });
}

/** Whether a package has native code, which no bundler can put into a module. */
export const isNative = (folder: string): boolean =>
  existsSync(join(folder, "binding.gyp")) || hasPlatformPackages(folder) || hasAddon(folder, DEPTH);

/** The first bytes of programs and libraries: ELF, Mach-O of one and of several processors, Windows. */
const MAGIC = ["7f454c46", "cffaedfe", "cefaedfe", "cafebabe", "4d5a"];

/** Whether the bytes are native code, which runs on one platform. */
export function isNativeCode(bytes: Uint8Array): boolean {
  const first = Buffer.from(bytes.subarray(0, 4)).toString("hex");
  return MAGIC.some((magic) => first.startsWith(magic));
}
