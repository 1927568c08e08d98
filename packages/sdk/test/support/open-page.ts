// A page of its own origin in headless Chromium, which runs one script and says what came of it.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { build } from "esbuild";
import { launchChromium } from "./chromium.ts";

/** The browser entry as a page loads it: one script that makes the global `keelson`. */
export async function bundleForPages(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, "../../src/browser.ts")],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "keelson",
    conditions: ["@keelson/source"],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

/**
 * Opens a page whose script is the body of an async function with `keelson` and `options` in scope.
 *
 * @returns what it returned. Rejects with what it threw.
 */
export async function openPage(script: string, options: object): Promise<unknown> {
  const html = `<!doctype html><script>${await bundleForPages()}</script>`;
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(request.url === "/" ? html : "");
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return await page.evaluate(`(async (options) => { ${script} })(${JSON.stringify(options)})`);
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}
