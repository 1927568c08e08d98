import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ProjectConfig } from "@keelson/sdk";
import { build, type BuildFailure } from "esbuild";
import { BundleError } from "../bundle/bundle-error.ts";
import { FROM_SOURCE, describeMessage } from "../bundle/bundle-options.ts";
import { checkProjectConfig } from "./check-project-config.ts";
import { findConfigFile } from "./project-folder.ts";

/**
 * A configuration file, loaded. It is bundled first, so that it may be TypeScript of any kind, import other files, and be
 * read again after a change.
 */
async function loadConfigFile(file: string): Promise<unknown> {
  let code: string;
  try {
    const { outputFiles } = await build({
      entryPoints: [file],
      bundle: true,
      write: false,
      platform: "node",
      target: "node24",
      format: "esm",
      conditions: FROM_SOURCE ? ["@keelson/source"] : [],
      logLevel: "silent",
    });
    code = outputFiles[0]?.text ?? "";
  } catch (error) {
    if (!(error instanceof Error && "errors" in error)) throw error;
    const lines = (error as BuildFailure).errors.map(describeMessage);
    throw new BundleError(`${file} cannot be read`, lines, { cause: error });
  }
  try {
    const loaded = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
      default?: unknown;
    };
    return loaded.default;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new BundleError(`${file} cannot be loaded: ${message}`, [], { cause: error });
  }
}

/** The section "keelson" of package.json; undefined without the file or the section. */
async function readSection(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new BundleError(`Cannot read ${path}: ${(error as Error).message}`, [], { cause: error });
  }
  try {
    return (JSON.parse(text) as { keelson?: unknown }).keelson;
  } catch (error) {
    throw new BundleError(`${path} is not JSON: ${(error as Error).message}`, [], { cause: error });
  }
}

/** What `keelson.config.ts` says, else package.json's "keelson"; empty without either. Throws a BundleError. */
export async function readProjectConfig(directory: string): Promise<ProjectConfig> {
  const file = findConfigFile(directory);
  if (file !== null) return checkProjectConfig(file, await loadConfigFile(file));
  const path = join(directory, "package.json");
  const section = await readSection(path);
  return section === undefined ? {} : checkProjectConfig(`${path}, "keelson"`, section);
}
