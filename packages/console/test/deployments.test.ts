// Deployments: what a version changes, promoting it, and rolling back; and the sandboxes that versions declare.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { createReadyDeployment } from "../../server/test/support/deploy.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { addUser } from "../../server/test/support/tenancy.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };

const FIRST = { tasks: [{ id: "report" }, { id: "gone", queue: "old" }] };
const SECOND = {
  tasks: [{ id: "report", description: "Reports." }],
  actors: [{ id: "chat" }],
  sandboxes: [{ id: "builder", setup: ["make"], network: "off", env: { CI: "1" } }],
};

describe("deployments", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene(FIRST);
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  const current = async () => (await scene.call("GET", "/v1/deployments/current")).body;

  test("a version that becomes ready is compared with the one before it, and promoted", async () => {
    const { page } = console;
    await scene.start("report");
    await console.goto("deployments");
    const first = await current();
    await page.getByRole("link", { name: first.version }).waitFor();
    const second = await createReadyDeployment(scene.server, scene.worker.token, SECOND);
    await page.getByRole("link", { name: second.version }).click();
    await page.getByRole("heading", { name: second.version }).waitFor();
    const changes = page.getByRole("region", { name: "Changes" });
    for (const text of ["task gone", "actor chat", "sandbox builder", "description: none → now Reports."])
      await changes.getByText(text).waitFor();
    const events = page.getByRole("list", { name: "Events" });
    await events.getByText("deployment.ready").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("deployment");
    await page.getByRole("button", { name: "Promote" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("actor chat").waitFor();
    assert.deepEqual(await console.violations(), []);
    await dialog.getByRole("button", { name: "Promote" }).click();
    await events.getByText("deployment.promoted").waitFor();
    await page.getByText("current", { exact: true }).waitFor();
    assert.equal((await current()).id, second.id);
  });

  test("shows the runs that are still in an older version", async () => {
    const { page } = console;
    await console.goto("deployments");
    await page.getByRole("link", { name: /\.1$/ }).click();
    await page.getByText("1 run is live in this version.").waitFor();
    await page.getByRole("region", { name: "Live runs", exact: true }).getByText("report").waitFor();
  });

  test("another version to compare with is in the address", async () => {
    const { page } = console;
    const { id, version } = await current();
    const select = page.getByLabel("Compared with");
    await page.goto(`${page.url()}?from=${id}`);
    await select
      .getByRole("option", { name: `${version} (current)`, selected: true })
      .waitFor({ state: "attached" });
    await page.getByRole("region", { name: "Changes" }).getByText("task gone").waitFor();
  });

  test("shows sandboxes, the built-in one too", async () => {
    const { page } = console;
    await console.goto("sandboxes");
    await page.getByRole("link", { name: "default" }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("sandboxes");
    await page.getByRole("link", { name: "builder" }).click();
    await page.getByText("make", { exact: true }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await page.goBack();
    await page.getByRole("link", { name: "default" }).waitFor();
  });

  test("a viewer is told that they may not", async () => {
    const { server } = scene;
    const before = await current();
    const [, first] = (await scene.call("GET", "/v1/deployments")).body.deployments;
    const credentials = { ...server.credentials, user_token: await addUser(server, "viewer") };
    const viewer = await openConsole({ ...server, credentials });
    try {
      await viewer.goto(`deployments/${first.id}`);
      await viewer.page.getByRole("button", { name: "Roll back to it" }).click();
      const dialog = viewer.page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Roll back" }).click();
      await dialog.getByText("Code forbidden").waitFor();
      assert.equal((await current()).id, before.id);
    } finally {
      await viewer.close();
    }
  });

  test("one that is not there", async () => {
    await console.goto("deployments/dep_00000000000000000000000000");
    await console.page.getByText("Page not found").waitFor();
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
