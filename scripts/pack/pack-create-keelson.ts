import { cpSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { placeSources } from "./place-sources.ts";
import { openStaging, packFolder, readPackage, root, writePackageFile } from "./staging.ts";

/** `npm create keelson`: one file without dependencies, which starts at once. Returns the tarball's path. */
export async function packCreateKeelson(): Promise<string> {
  const folder = openStaging("create-keelson");
  await build({
    entryPoints: [path.join(root, "packages/create-keelson/src/main.ts")],
    outfile: path.join(folder, "dist/main.js"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "linked",
    sourcesContent: true,
    logLevel: "silent",
  });
  placeSources(path.join(folder, "dist"));
  cpSync(path.join(root, "packages/create-keelson/README.md"), path.join(folder, "README.md"));
  writePackageFile(folder, {
    name: "create-keelson",
    version: readPackage("packages/create-keelson").version,
    description: "Makes a Keelson project: npm create keelson.",
    bin: { "create-keelson": "dist/main.js" },
    exports: { "./package.json": "./package.json" },
    files: ["dist"],
  });
  return packFolder(folder);
}
