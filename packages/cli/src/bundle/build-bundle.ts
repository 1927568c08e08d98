import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { DeploymentManifest } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { build, context, type BuildFailure, type BuildResult } from "esbuild";
import { BundleError } from "./bundle-error.ts";
import { bundleOptions, describeMessage, type BundleSource } from "./bundle-options.ts";
import { findTaskFiles } from "./find-task-files.ts";
import { readManifest } from "./read-manifest.ts";

export type BundledCode = {
  code: Uint8Array;
  /** SHA-256 of the code in hexadecimal. The same sources give the same bytes. */
  digest: string;
  /** Of the bundler, as `file:line:column: what`. */
  warnings: readonly string[];
};

export type Bundle = BundledCode & { manifest: DeploymentManifest };

export type BundleInput = {
  /** The project's folder. */
  directory: string;
  /** The files that declare tasks, relative to `directory`. Default: what package.json's `keelson.tasks` says. */
  files?: readonly string[];
};

function toSource({ directory, files }: BundleInput): BundleSource {
  const folder = resolve(directory);
  return { directory: folder, findFiles: async () => files ?? (await findTaskFiles(folder)) };
}

function toCode(result: Pick<BuildResult, "outputFiles" | "warnings">): BundledCode {
  const code = result.outputFiles?.[0]?.contents;
  if (code === undefined) throw new BundleError("The bundler gave no output", []);
  if (code.length > LIMITS.bundleBytes)
    throw new BundleError(`The bundle is ${code.length} bytes; the limit is ${LIMITS.bundleBytes}`, []);
  const digest = createHash("sha256").update(code).digest("hex");
  return { code, digest, warnings: result.warnings.map(describeMessage) };
}

const withManifest = async (bundled: BundledCode): Promise<Bundle> => ({
  ...bundled,
  manifest: await readManifest(bundled.code),
});

const toBundleError = (errors: BuildFailure["errors"], cause?: unknown): BundleError =>
  new BundleError("The code cannot be bundled", errors.map(describeMessage), { cause });

/** Makes the code of a bundle without loading it. Throws a BundleError for what cannot be bundled. */
export async function bundleCode(input: BundleInput): Promise<BundledCode> {
  let result;
  try {
    result = await build(bundleOptions(toSource(input)));
  } catch (error) {
    if (!(error instanceof Error && "errors" in error)) throw error;
    throw toBundleError((error as BuildFailure).errors, error);
  }
  return toCode(result);
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
  onBuilt: (bundle: Bundle | BundleError) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const options = bundleOptions(toSource(input));
  let latest: BuildResult | null = null;
  let working: Promise<void> | null = null;
  const work = async (): Promise<void> => {
    while (latest !== null) {
      const result: BuildResult = latest;
      latest = null;
      let outcome: Bundle | BundleError;
      try {
        outcome =
          result.errors.length > 0 ? toBundleError(result.errors) : await withManifest(toCode(result));
      } catch (error) {
        if (!(error instanceof BundleError)) throw error;
        outcome = error;
      }
      await onBuilt(outcome);
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
            latest = result;
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
