import { Client, type Deployment } from "@keelson/sdk";
import type { RunningServer } from "@keelson/server";
import { CLI_VERSION } from "../version.ts";
import { findCurrentDeployment } from "./deploy-examples.ts";

/** What is current in the environment of the server's own key; null before the first deployment. */
export function findOwnDeployment(
  { url, credentials }: RunningServer,
  signal: AbortSignal,
): Promise<Deployment | null> {
  const headers = { "service-cli-version": CLI_VERSION };
  return findCurrentDeployment(new Client({ url, apiKey: credentials.api_key, headers }), signal);
}
