// A conversation that no browser could lay out whole.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { emit, startSession } from "../../server/test/support/session-scene.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

describe("a conversation of many records", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  test("is shown from its end, with few elements, follows it, and stays where one has scrolled", async () => {
    const { page } = console;
    const session = await startSession(scene);
    for (let batch = 0; batch < 24; batch += 1) {
      const records = Array.from({ length: 500 }, (_, n) => ({
        data: `Record ${batch * 500 + n + 1} ${"word ".repeat(n % 40)}`,
      }));
      const path = `/api/sessions/${session.id}/outputs/output`;
      assert.equal((await scene.call("POST", path, { body: { records } })).status, 201);
    }
    await console.goto(`sessions/${session.id}`);
    const region = page.getByRole("region", { name: "Conversation", exact: true });
    await region.getByText("Record 12000 ").waitFor();
    await page.getByText("5,000 records", { exact: true }).waitFor();
    assert.ok((await region.getByRole("listitem").count()) < 60);

    await emit(scene, session, "One more");
    await region.getByText("One more").waitFor();
    await page.getByRole("button", { name: "To the newest" }).waitFor({ state: "detached" });

    const newest = page.getByRole("button", { name: "To the newest" });
    // Again until it stays: the end may just be followed.
    do await page.evaluate(`document.querySelector('[aria-label="Conversation"]').scrollTop = 0`);
    while (!(await newest.isVisible()));
    await page.getByRole("button", { name: "Show earlier records (7,000)" }).click();
    await page.getByText("10,001 records", { exact: true }).waitFor();
    await emit(scene, session, "The very last");
    await page.getByText("10,002 records", { exact: true }).waitFor();
    assert.equal(await region.getByText("The very last").count(), 0);
    await newest.click();
    await region.getByText("The very last").waitFor();
    assert.deepEqual(console.problems, []);
  });
});
