// The list of sessions in the console, and what ends one.

import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { digestOf } from "../../server/test/support/api-server.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { startSession } from "../../server/test/support/session-scene.ts";
import { addUser } from "../../server/test/support/tenancy.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 180_000 };

describe("sessions in the console", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }, { id: "other" }] });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });
  const list = () => console.page.getByRole("region", { name: "Sessions" });

  test("are none at first, and appear by themselves", async () => {
    const { page, goto } = console;
    await goto("sessions");
    await page.getByText("No conversations yet").waitFor();
    assert.deepEqual(await console.violations(), []);
    await startSession(scene, { external_id: "alpha", tags: ["vip"] });
    await startSession(scene, { external_id: "beta", actor: "other" });
    await list().getByText("beta").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("sessions");
  });

  test("are narrowed by what the address says, and back again", async () => {
    const { page } = console;
    await page.getByLabel("Tag").fill("vip");
    await page.getByLabel("Tag").press("Enter");
    await list().getByText("beta").waitFor({ state: "detached" });
    await page.waitForURL(/sessions\?tag=vip$/);
    await page.getByLabel("Status").selectOption("closed");
    await page.getByText("No sessions match these filters").waitFor();
    await page.waitForURL(/status=closed/);
    await page.goBack();
    await list().getByText("alpha").waitFor();
    await page.goBack();
    await list().getByText("beta").waitFor();
    await console.goto("sessions?actor=other&external_id=beta");
    await list().getByText("beta").waitFor();
    assert.equal(await page.getByLabel("Actor").inputValue(), "other");
    assert.equal(await list().getByText("alpha").count(), 0);
  });

  test("are closed after asking, and say so", async () => {
    const { page } = console;
    const session = await startSession(scene);
    await console.goto(`sessions/${session.id}`);
    await page.getByRole("button", { name: "Close", exact: true }).click();
    assert.deepEqual(await console.violations(), []);
    await page.getByRole("button", { name: "Close the session" }).click();
    await page.getByText("The session is closed: it takes no more input.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Cancel", exact: true }).count(), 0);
  });

  test("that are not there, or may not be written, are refused in words", async () => {
    const { page } = console;
    await console.goto("sessions/sess_00000000000000000000000000");
    await page.getByRole("alert").getByText("Code not_found").waitFor();
    const session = await startSession(scene);
    const user_token = await addUser(scene.server, "viewer");
    const credentials = { ...scene.server.credentials, user_token };
    const viewer = await openConsole({ ...scene.server, credentials });
    try {
      await viewer.goto(`sessions/${session.id}`);
      const message = viewer.page.getByRole("textbox", { name: "Message" });
      await message.fill("hello");
      await message.press("Enter");
      await viewer.page.getByRole("alert").getByText("Code forbidden").waitFor();
      assert.equal(await message.inputValue(), "hello");
    } finally {
      await viewer.close();
    }
  });

  test("show what they remember when they are asked", async () => {
    const { page } = console;
    const session = await startSession(scene);
    await console.goto(`sessions/${session.id}`);
    await page.getByRole("button", { name: "Show state" }).click();
    const section = page.getByRole("region", { name: "State", exact: true });
    await section.getByText("No state yet").waitFor();
    const body = { state: { topic: "<b>delivery</b>" } };
    assert.equal((await scene.call("PUT", `/api/sessions/${session.id}/state`, { body })).status, 200);
    await section.getByText("<b>delivery</b>").waitFor();
    await section.getByText(/^Version 1, set by key_/).waitFor();
    assert.deepEqual(await console.violations(), []);
    await page.getByRole("button", { name: "Hide state" }).click();
    await section.getByText("Version 1").waitFor({ state: "detached" });
  });

  test("show their files, which a click saves, and nothing where they have none", async () => {
    const { page } = console;
    const session = await startSession(scene);
    const section = page.getByRole("region", { name: "Files", exact: true });
    await console.goto(`sessions/${session.id}`);
    await page.getByRole("region", { name: "About", exact: true }).waitFor();
    assert.equal(await section.count(), 0);
    const upload = async (content: string, name: string | null, type: string): Promise<void> => {
      const bytes = Buffer.from(content);
      const query = name === null ? "" : `?name=${encodeURIComponent(name)}`;
      const path = `/api/sessions/${session.id}/files/${digestOf(bytes)}${query}`;
      const answer = await scene.call("PUT", path, { bytes, headers: { "content-type": type } });
      assert.equal(answer.status, 201, answer.text);
    };
    const markup = "<script>alert(1)</script>";
    await upload(markup, "a <b>\u202egpj.html", "text/html");
    const link = section.getByRole("link", { name: "a <b>\\u{202e}gpj.html" });
    await link.waitFor();
    await section.getByText("text/html, 25 bytes").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("session-files");
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    assert.equal((await buffer(await download.createReadStream())).toString(), markup);
    assert.match(page.url(), new RegExp(`sessions/${session.id}$`), "the file is saved and not opened");
    for (let n = 0; n < 21; n += 1) await upload(`file ${n}`, null, "text/plain");
    await console.goto(`sessions/${session.id}`);
    await section
      .getByRole("link", { name: /^file_/ })
      .first()
      .waitFor();
    assert.equal(await section.getByRole("listitem").count(), 20);
    await section.getByRole("button", { name: "Earlier files" }).click();
    await link.waitFor();
    assert.equal(await section.getByRole("listitem").count(), 22);
    assert.deepEqual(await console.violations(), []);
    assert.deepEqual(console.problems, []);
  });
});
