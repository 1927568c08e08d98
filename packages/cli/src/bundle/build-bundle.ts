import { join, relative, resolve, sep } from "node:path";
import { platformOf, type DeploymentManifest } from "@keelson/contract";
import type { ProjectConfig } from "@keelson/sdk";
import { build, context, type BuildFailure, type BuildResult } from "esbuild";
import { packArchive, type BundleFile, type PackedArchive } from "./archive-files.ts";
import { BundleError } from "./bundle-error.ts";
import { bundleOptions, describeMessage, ENTRY_FILE, type BundleSource } from "./bundle-options.ts";
import { createExternals, type Externals } from "./externals.ts";
import { findAssets, readBundleFile } from "./find-assets.ts";
import { DEFAULT_PATTERNS, findTaskFiles } from "./find-task-files.ts";
import { isNativeCode } from "./native-packages.ts";
import { readProjectConfig } from "../project/read-project-config.ts";
import { readManifest } from "./read-manifest.ts";
import { traceExternals } from "./trace-externals.ts";
import { findWatchedFolders } from "./find-watched-folders.ts";

export type BundledCode = PackedArchive & {
  /** Of the bundler, as `file:line:column: what`. */
  warnings: readonly string[];
};

export type Bundle = BundledCode & { manifest: DeploymentManifest };

export type BundleInput = {
  /** The project's folder. */
  directory: string;
  /** The files that declare tasks, relative to `directory`. Default: what the project's configuration says. */
  files?: readonly string[];
};

async function toSource({ directory, files }: BundleInput): Promise<BundleSource> {
  const folder = resolve(directory);
  const nothing = async (): Promise<readonly string[]> => [];
  if (files !== undefined)
    return {
      directory: folder,
      findFiles: async () => files,
      findFolders: nothing,
      findAssets: nothing,
      findExternals: nothing,
      loader: {},
    };
  // What is wrong with the configuration is told by findTaskFiles, also of what is watched until it is right.
  const readConfig = () => readProjectConfig(folder).catch(ignoreBundleError);
  const readSettings = async () => (await readConfig()).build;
  return {
    directory: folder,
    findFiles: () => findTaskFiles(folder),
    findFolders: async () => {
      const { tasks = DEFAULT_PATTERNS, build } = await readConfig();
      return findWatchedFolders(folder, [...tasks, ...(build?.assets ?? [])]);
    },
    findAssets: async () => findAssets(folder, (await readSettings())?.assets ?? []),
    findExternals: async () => (await readSettings())?.external ?? [],
    loader: (await readSettings())?.loader ?? {},
  };
}

function ignoreBundleError(error: unknown): ProjectConfig {
  if (error instanceof BundleError) return {};
  throw error;
}

type Built = Pick<BuildResult, "outputFiles" | "warnings"> & { found: ReturnType<Externals["found"]> };

/** The archive of what the bundler made, the assets, and the packages that it left out. */
async function toCode({ directory, findAssets: find }: BundleSource, built: Built): Promise<BundledCode> {
  const code = (built.outputFiles ?? []).map(({ path, contents }): BundleFile => {
    const name = relative(directory, path).split(sep).join("/");
    return { path: name, bytes: contents, executable: false };
  });
  const assets = await find();
  const read = await Promise.all(assets.map((path) => readBundleFile(join(directory, path), path)));
  const files = new Map(
    [...(await traceExternals(built.found)), ...read, ...code].map((file) => [file.path, file]),
  );
  const isNative = [...files.values()].some(({ bytes }) => isNativeCode(bytes));
  const archive = packArchive(ENTRY_FILE, [...files.values()], isNative ? platformOf(process) : null);
  return { ...archive, warnings: built.warnings.map(describeMessage) };
}

const withManifest = async (bundled: BundledCode): Promise<Bundle> => ({
  ...bundled,
  manifest: await readManifest(bundled),
});

const toBundleError = (errors: BuildFailure["errors"], cause?: unknown): BundleError =>
  new BundleError("The code cannot be bundled", errors.map(describeMessage), { cause });

/** Makes the code of a bundle without loading it. Throws a BundleError for what cannot be bundled. */
export async function bundleCode(input: BundleInput): Promise<BundledCode> {
  const source = await toSource(input);
  const externals = createExternals(source.findExternals);
  let result;
  try {
    result = await build(bundleOptions(source, externals));
  } catch (error) {
    if (!(error instanceof Error && "errors" in error)) throw error;
    throw toBundleError((error as BuildFailure).errors, error);
  }
  return toCode(source, { ...result, found: externals.found() });
}

/** Makes the bundle of a project. Throws a BundleError for what is wrong in its code. */
export const buildBundle = async (input: BundleInput): Promise<Bundle> =>
  withManifest(await bundleCode(input));

/**
 * Makes the bundle now and after each change of its sources, until `signal` is aborted. `onBuilt` is awaited before
 * the next bundle; of the changes meanwhile only the last state counts.
 */
export async function watchBundle(
  input: BundleInput,
  onBuilt: (bundle: Bundle | BundleError, superseded: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const source = await toSource(input);
  const externals = createExternals(source.findExternals);
  const options = bundleOptions(source, externals);
  let latest: (BuildResult & Pick<Built, "found">) | null = null;
  let working: Promise<void> | null = null;
  let superseding = new AbortController();
  const work = async (): Promise<void> => {
    while (latest !== null) {
      const result: BuildResult & Pick<Built, "found"> = latest;
      latest = null;
      superseding = new AbortController();
      let outcome: Bundle | BundleError;
      try {
        outcome =
          result.errors.length > 0
            ? toBundleError(result.errors)
            : await withManifest(await toCode(source, result));
      } catch (error) {
        if (!(error instanceof BundleError)) throw error;
        outcome = error;
      }
      await onBuilt(outcome, superseding.signal);
    }
  };
  const failed = Promise.withResolvers<never>();
  const watching = await context({
    ...options,
    plugins: [
      ...options.plugins,
      {
        name: "keelson-watch",
        setup(build) {
          build.onEnd((result) => {
            latest = { ...result, found: externals.found() };
            superseding.abort();
            working ??= work()
              .catch(failed.reject)
              .finally(() => {
                working = null;
              });
          });
        },
      },
    ],
  });
  try {
    await watching.watch();
    await Promise.race([
      failed.promise,
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
    ]);
  } finally {
    await watching.dispose();
  }
}
