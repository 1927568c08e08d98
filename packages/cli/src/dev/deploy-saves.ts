import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, ConnectionError, type Client } from "@keelson/sdk";
import { BundleError } from "../bundle/bundle-error.ts";
import type { Bundle } from "../bundle/build-bundle.ts";
import type { Cli } from "../cli.ts";
import { DEPLOY_TIMEOUT_MS, deployBundle } from "../deploy-bundle.ts";
import type { Change } from "../deploy-plan.ts";
import { ExitError } from "../exit-codes.ts";
import { agreeToRemovals } from "./agree-to-removals.ts";
import { createMistakes } from "./mistakes.ts";

/** How long until a server that could not be reached is asked again. */
const AGAIN_MS = 1_000;

type Project = { client: Client; directory: string; yes: boolean; signal: AbortSignal };

/** What a person sees of a save at a glance: which tasks and actors came, went and are declared otherwise. */
const describeChange = (changes: readonly Change[]): string =>
  changes
    .filter(({ kind }) => kind === "task" || kind === "actor")
    .map(({ sign, id }) => `${sign}${id}`)
    .join(" ") || "code only";

/** @returns what deploys each save, and tells what is wrong with one. */
export function createSaves(cli: Cli, { client, directory, yes, signal }: Project) {
  let deployed: { digest: string; version: string } | null = null;
  const mistakes = createMistakes(cli);

  async function deploy(built: Bundle, superseded: AbortSignal): Promise<void> {
    const { changes, refusal } = await agreeToRemovals(cli, client, built, { yes, superseded });
    if (refusal !== null) return mistakes.tell(refusal);
    const begun = performance.now();
    const progress = (): void => undefined;
    const options = { directory, promote: true, timeoutMs: DEPLOY_TIMEOUT_MS, signal, progress };
    const deployment = await deployBundle(client, built, options);
    const change = describeChange(changes);
    deployed = { digest: built.digest, version: deployment.version };
    cli.print(
      cli.isJson()
        ? cli.wire.text(deployment)
        : `${deployment.version} is current (${change}) in ${Math.round(performance.now() - begun)} ms`,
    );
    mistakes.repaired(deployment.version);
  }

  /** Until the server can be reached, or the next save is there. */
  async function deployOnceReached(built: Bundle, superseded: AbortSignal): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        return await deploy(built, superseded);
      } catch (error) {
        // The next change may well be the remedy.
        if (!(error instanceof ExitError || error instanceof ApiError) || signal.aborted) throw error;
        if (!(error instanceof ConnectionError)) return mistakes.tell(error.message);
        if (isFirst) mistakes.tell(`${error.message}; this save is deployed when the server is there`);
      }
      const over = AbortSignal.any([signal, superseded]);
      await sleep(AGAIN_MS, undefined, { signal: over }).catch(() => undefined);
      if (over.aborted) return;
    }
  }

  return async function onBuilt(built: Bundle | BundleError, superseded: AbortSignal): Promise<void> {
    if (built instanceof BundleError) return mistakes.tell(built.message);
    for (const warning of built.warnings) cli.notice(`warning: ${warning}`);
    if (built.digest === deployed?.digest) return mistakes.repaired(deployed.version);
    await deployOnceReached(built, superseded);
  };
}
