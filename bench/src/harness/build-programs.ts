import path from "node:path";
import { buildAll } from "../../../scripts/pack/build-all.ts";
import { layOutKeelson } from "../../../scripts/pack/pack-keelson.ts";
import { openStaging } from "../../../scripts/pack/staging.ts";

const ROOT = path.join(import.meta.dirname, "..", "..", "..");
const STAGING = "programs";
/** The packages as an installation has them, once they are built. */
const PACKAGES = path.join(ROOT, "dist/staging", STAGING, "packages");

/** The file of a program, as it is installed. */
export const programOf = (name: "cli" | "server" | "agent"): string =>
  path.join(PACKAGES, name, "dist/main.js");

/** Builds all programs as they are published, so that what is measured is what a package contains. */
export async function buildPrograms(): Promise<void> {
  buildAll(true);
  await layOutKeelson(openStaging(STAGING));
}
