// The example as its README says: `keelson up`, and `keelson deploy examples/ai-chat` to the person's own project.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { Client } from "@keelson/sdk";
import { environmentOf, keelson } from "../../../../packages/cli/test/support.ts";
import { startEverything } from "../../../repository-report/test/support/start-everything.ts";

export type Example = { client: Client; url: string; apiKey: string; stop(): Promise<void> };

export async function startExample(): Promise<Example> {
  const everything = await startEverything();
  const { credentials, url, stop } = everything;
  const { api_key: apiKey } = credentials;
  const project = resolve(import.meta.dirname, "../..");
  const { code, stderr } = await keelson(["deploy", project], { env: environmentOf(everything) });
  if (code !== 0) {
    await stop();
    assert.fail(stderr);
  }
  return { client: new Client({ url, apiKey }), url, apiKey, stop };
}
