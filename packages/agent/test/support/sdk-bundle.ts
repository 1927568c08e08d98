import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildBundle, type Bundle } from "../../../cli/src/bundle/build-bundle.ts";

const MODULES = resolve(import.meta.dirname, "../../../../node_modules");

/** Code without dynamic imports is one module, which is a bundle of format 1 too. */
export type SourceBundle = Bundle & { code: Uint8Array };

/** The bundle of a project with this one file of tasks, made as `keelson deploy` makes it. */
export async function bundleSource(source: string): Promise<SourceBundle> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-project-"));
  try {
    await symlink(MODULES, join(directory, "node_modules"));
    await mkdir(join(directory, "src/tasks"), { recursive: true });
    await writeFile(join(directory, "src/tasks/main.ts"), source);
    const bundle = await buildBundle({ directory });
    const entry = bundle.files.find(({ path }) => path === bundle.entry);
    if (entry === undefined) throw new Error("The bundle lacks its entry.");
    return { ...bundle, code: entry.bytes };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
