import type { BundleModule } from "@keelson/contract/plain";
import { SDK_VERSION } from "../version.ts";
import { execute } from "./execute.ts";
import { buildManifest } from "./manifest.ts";

/** The export that a task host finds in a bundle. */
export const keelson: BundleModule = {
  formatVersion: 1,
  sdkVersion: SDK_VERSION,
  manifest: buildManifest,
  execute,
};
