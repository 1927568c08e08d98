import { Client, ApiError, type Deployment } from "@keelson/sdk";
import type { RunningServer } from "@keelson/server";
import { BundleError } from "../bundle/bundle-error.ts";
import type { BundledCode } from "../bundle/build-bundle.ts";
import { ExitError } from "../exit-codes.ts";
import { CLI_VERSION } from "../version.ts";
import { deployExamples } from "./deploy-examples.ts";
import { openExamplesProject, type ExamplesAccess } from "./examples-project.ts";
import { findExampleFiles } from "./find-examples.ts";

/** What is current in the examples' project, and how it is reached. */
export type Examples = { deployment: Deployment; access: ExamplesAccess };

/** The examples' code, made while the rest starts; null when there are none. Rejects with what is wrong with them. */
export async function bundleExamples(directory: string): Promise<BundledCode | null> {
  const files = await findExampleFiles(directory);
  if (files.length === 0) return null;
  const { bundleCode } = await import("../bundle/build-bundle.ts");
  return bundleCode({ directory, files });
}

export type ExamplesPlace = {
  server: RunningServer;
  dataDir: string;
  directory: string;
  signal: AbortSignal;
  notice: (text: string) => void;
};

/** Deploys the examples to their project; null when there are none, or when they cannot be deployed, which is said. */
export async function startExamples(
  bundling: Promise<BundledCode | null>,
  { server, dataDir, directory, signal, notice }: ExamplesPlace,
): Promise<Examples | null> {
  try {
    const bundled = await bundling;
    if (bundled === null) return null;
    const access = await openExamplesProject(server, dataDir, signal);
    const headers = { "service-cli-version": CLI_VERSION };
    const client = new Client({ url: access.url, apiKey: access.api_key, headers });
    return { access, deployment: await deployExamples(client, bundled, directory, signal, notice) };
  } catch (error) {
    // The rest is of use without the examples.
    const isExpected =
      error instanceof BundleError || error instanceof ExitError || error instanceof ApiError;
    if (!isExpected || signal.aborted) throw error;
    notice(`The examples are not deployed. ${error.message}`);
    return null;
  }
}
