// The pages that a newcomer follows do what they show: on a server and a worker as `npm start` has them.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import {
  startEverything,
  type Everything,
} from "../examples/repository-report/test/support/start-everything.ts";
import { readPages, ROOT } from "./docs/read-pages.ts";
import { hasRecorder } from "./docs/record-commands.ts";
import { runPage } from "./docs/run-page.ts";

const pages = readPages().filter(({ blocks }) => blocks.some(({ marks }) => marks.run !== null));

describe("what is run", { skip: !hasRecorder() && "bash is older than 4" }, () => {
  let everything: Everything;
  before(async () => {
    everything = await startEverything();
  });
  after(() => everything?.stop());

  /** A folder as the checkout is to a reader: packages can be imported, and `.keelson` says where the server is. */
  async function makeCheckout(): Promise<{ folder: string; [Symbol.asyncDispose](): Promise<void> }> {
    const folder = await mkdtemp(path.join(tmpdir(), "keelson-docs-"));
    await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
    for (const name of [".keelson", "scripts"]) await mkdir(path.join(folder, name));
    const run = JSON.stringify(path.join(ROOT, "scripts/run.mjs"));
    await writeFile(
      path.join(folder, "scripts/run.mjs"),
      `process.argv[1] = ${run};\nawait import(${run});\n`,
    );
    const { url, api_key } = everything.credentials;
    await writeFile(path.join(folder, ".keelson/credentials.json"), JSON.stringify({ url, api_key }));
    return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
  }

  test("includes the README and the quick start", () => {
    const paths = pages.map((page) => page.path);
    for (const page of ["README.md", "docs/quick-start.md"])
      assert.ok(paths.includes(page), paths.join(", "));
  });

  for (const page of pages) {
    test(`${page.path} does what it shows`, { timeout: 500_000 }, async (t) => {
      await using checkout = await makeCheckout();
      const { blocks, compared } = await runPage(page, checkout.folder, { HOME: process.env["HOME"] ?? "" });
      t.diagnostic(`${blocks} blocks were run, the output of ${compared} of them is what the page shows`);
    });
  }
});
