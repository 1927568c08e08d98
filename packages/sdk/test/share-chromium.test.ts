// The Chromium that all files of a run of tests share.

import assert from "node:assert/strict";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { WITHOUT_CHROMIUM } from "./support/chromium.ts";
import { shareChromium } from "./support/share-chromium.ts";

test(
  "files that ask at once get one Chromium, apart from each other",
  { skip: WITHOUT_CHROMIUM },
  async (t) => {
    const shared = await shareChromium({ ...process.env } as Record<string, string>);
    t.after(() => shared.close());
    const ask = async (): Promise<string> => (await fetch(shared.url)).text();
    const [first, second] = await Promise.all([ask(), ask()]);
    assert.equal(second, first);

    const [one, other] = await Promise.all([chromium.connect(first), chromium.connect(first)]);
    const page = await one.newPage();
    assert.equal(other.contexts().length, 0);
    await other.close();
    assert.equal(await page.evaluate("1 + 1"), 2, "who is done ends only what was its own");

    await shared.close();
    await assert.rejects(page.evaluate("1 + 1"), /closed/);
  },
);
