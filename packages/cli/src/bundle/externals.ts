import { isBuiltin } from "node:module";
import { relative, sep } from "node:path";
import type { Plugin } from "esbuild";
import { findPackage, isNative, packageNameOf } from "./native-packages.ts";
import { placeOfPackage } from "./place-of-package.ts";

/** Marks the plugin's own question to the bundler. */
const ASKED = Symbol("asked");

/** The packages that are deployed as they are, and what is imported of them. */
export type Externals = {
  plugin: Plugin;
  /** Imports of the last build, each with the folder that it was found from. */
  found(): { specifier: string; from: string }[];
};

const toSlashes = (path: string): string => path.split(sep).join("/");

/**
 * Leaves packages out of the bundle that the configuration names, or that have native code.
 *
 * @param named asked again at each rebuild
 */
export function createExternals(named: () => Promise<readonly string[]>): Externals {
  const imports = new Map<string, { specifier: string; from: string }>();
  const native = new Map<string, boolean>();
  const isExternal = (root: string, name: string, marked: ReadonlySet<string>): boolean => {
    if (marked.has(name)) return true;
    const known = native.get(root) ?? isNative(root);
    native.set(root, known);
    return known;
  };
  const plugin: Plugin = {
    name: "keelson-externals",
    setup(build) {
      let marked: ReadonlySet<string> = new Set();
      build.onStart(async () => {
        imports.clear();
        native.clear();
        marked = new Set(await named());
      });
      build.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
        const name = packageNameOf(path);
        if (pluginData === ASKED || name === null || isBuiltin(path) || path.startsWith("keelson:"))
          return null;
        const root = findPackage(resolveDir, name);
        if (root === null || !isExternal(root, name, marked)) return null;
        imports.set(`${root} ${path}`, { specifier: path, from: resolveDir });
        const place = placeOfPackage(root) ?? `node_modules/${name}`;
        if (place === `node_modules/${name}`) return { path, external: true };
        // Another version than the one at the top: named by its file, it is found from the bundle too.
        const answer = await build.resolve(path, { kind, resolveDir, pluginData: ASKED });
        return { path: `./${place}/${toSlashes(relative(root, answer.path))}`, external: true };
      });
    },
  };
  return { plugin, found: () => [...imports.values()] };
}
