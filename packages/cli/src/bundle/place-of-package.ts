import { sep } from "node:path";

/** Where package managers keep packages that `node_modules` links to: `.pnpm/sharp@0.35.5/node_modules/sharp`. */
const STORE = /^\.(?:pnpm|bun|store)\/[^/]+\/node_modules\//;
const FOLDER = "/node_modules/";

/**
 * Where an archive has a file or folder of an installed package: the same below `node_modules`, without the folders of this
 * machine and without links. Null for what is linked from elsewhere.
 */
export function placeOfPackage(path: string): string | null {
  const slashed = path.split(sep).join("/");
  const at = slashed.indexOf(FOLDER);
  if (at < 0) return null;
  return `node_modules/${slashed.slice(at + FOLDER.length).replace(STORE, "")}`;
}
