// The example as its README says: `keelson up`, and `keelson deploy examples/ai-chat` to the person's own project.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { Client } from "@keelson/sdk";
import { environmentOf, keelson } from "../../../../packages/cli/test/support.ts";
import { shareExamples } from "../../../repository-report/test/support/shared-examples.ts";

export type Example = { client: Client; url: string; apiKey: string };

let deployed: Promise<Example> | undefined;

/** One deployment for all suites of a test file. */
export const shareExample = (): Promise<Example> => (deployed ??= deployExample());

async function deployExample(): Promise<Example> {
  const everything = await shareExamples();
  const { credentials, url } = everything;
  const { api_key: apiKey } = credentials;
  const project = resolve(import.meta.dirname, "../..");
  const { code, stderr } = await keelson(["deploy", project], { env: environmentOf(everything) });
  assert.equal(code, 0, stderr);
  return { client: new Client({ url, apiKey }), url, apiKey };
}
