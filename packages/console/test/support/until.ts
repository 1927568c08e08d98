import type { Page } from "playwright-core";
import { patience } from "../../../server/test/support/until.ts";

/** Resolves when the expression holds in the page; the policy of the pages allows none to be evaluated in them. */
export async function until(page: Page, expression: string): Promise<void> {
  const deadline = performance.now() + patience();
  while ((await page.evaluate(expression)) !== true) {
    if (performance.now() > deadline) throw new Error(`It never became so: ${expression}`);
    await page.evaluate("new Promise((done) => requestAnimationFrame(done))");
  }
}
