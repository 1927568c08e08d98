// The console's pages and files as the server hands them out; no browser is needed for this.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";

/** Of everything that the first page loads before it can be used. */
const MAX_FIRST_PAGE_BYTES = 130 * 1024;

describe("the console's files", () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer();
  });
  after(() => server?.stop());

  test("every page of the console is the same document, under a strict policy", async () => {
    for (const path of ["/", "/login", "/device", "/invitation", "/e/env_x/runs/run_y", "/system/workers"]) {
      const response = await fetch(server.url + path);
      assert.equal(response.status, 200, path);
      const policy = response.headers.get("content-security-policy") ?? "";
      assert.match(policy, /default-src 'none'; script-src 'self';/);
      assert.doesNotMatch(policy, /unsafe-eval|script-src[^;]*unsafe-inline/);
      assert.doesNotMatch(await response.text(), /<script>/);
    }
  });

  test("no address leads out of the folder, and what is unknown is said to be", async () => {
    for (const path of [
      "/assets/..%2Findex.html",
      "/assets/%2e%2e%2f%2e%2e%2fpackage.json",
      "/assets/none.js",
    ])
      assert.equal((await fetch(server.url + path)).status, 404, path);
  });

  test("what the first page loads is small", async (t) => {
    const page = await (await fetch(server.url)).text();
    const loaded = new Map<string, string>();
    const load = async (path: string): Promise<void> => {
      if (loaded.has(path)) return;
      const response = await fetch(server.url + path);
      assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
      const text = await response.text();
      loaded.set(path, text);
      for (const [, name] of text.matchAll(/\bfrom\s*"\.\/([\w.-]+\.js)"/g)) await load(`/assets/${name}`);
    };
    for (const [, path] of page.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)) await load(path as string);
    assert.ok(loaded.size > 0);
    const bytes = [...loaded.values()].reduce((sum, text) => sum + gzipSync(text).length, 0);
    t.diagnostic(`${loaded.size} files, ${bytes} bytes compressed`);
    assert.ok(bytes <= MAX_FIRST_PAGE_BYTES, `${bytes} bytes`);
  });
});
