// Tokens in the console: the inbox, and every way to complete one.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { addUser } from "../../server/test/support/tenancy.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

describe("tokens in the console", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  let server: ApiServer;
  let console: ConsolePage;
  before(async () => {
    server = await startApiServer();
    console = await openConsole(server);
  });
  after(async () => {
    await console?.close();
    await server?.stop();
  });
  const create = async (body: object): Promise<string> => {
    const answer = await server.call("POST", "/v1/tokens", { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.body.id;
  };
  const read = async (id: string) => (await server.call("GET", `/v1/tokens/${id}`)).body;
  const card = (name: string) => console.page.getByRole("article", { name });

  test("wait in an inbox, the one first that has waited longest", async () => {
    const { page } = console;
    await console.goto("tokens");
    await page.getByText("Nothing is waiting for you").waitFor();
    assert.deepEqual(await console.violations(), []);
    await create({ metadata: { question: "First?" }, tags: ["approval"], timeout: "2m" });
    await create({ metadata: { question: "Second \u202e?" }, tags: ["approval", "\u202etag"] });
    await create({ metadata: { title: "Third" } });
    await card("Third").getByRole("link", { name: "Answer …" }).waitFor();
    await card("Second \\u{202e}?").getByText("\\u{202e}tag").waitFor();
    const names: unknown = await page.evaluate(
      `[...document.querySelectorAll("article")].map(({ ariaLabel }) => ariaLabel)`,
    );
    assert.deepEqual(names, ["First?", "Second \\u{202e}?", "Third"]);
    await card("First?")
      .getByText(/expires in \d/)
      .waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("tokens");
  });

  test("are filtered by what the address says", async () => {
    const { page } = console;
    const id = await create({ metadata: { title: "Gone" }, tags: ["old"] });
    await server.call("POST", `/v1/tokens/${id}/cancel`);
    await console.goto("tokens?status=all&tag=old");
    await card("Gone").getByText("cancelled").waitFor();
    assert.equal(await page.getByRole("article").count(), 1);
    await page.getByLabel("Status").selectOption("completed");
    await page.getByText("No tokens match these filters").waitFor();
    await page.waitForURL(/status=completed/);
    await page.goBack();
    await card("Gone").waitFor();
  });

  test("are answered with yes or no", async () => {
    const id = await create({ metadata: { question: "Send it?" }, tags: ["approval"] });
    await console.goto("tokens");
    await card("Send it?").getByRole("button", { name: "Refuse" }).click();
    assert.equal((await read(id)).status, "pending");
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("token-refuse");
    const answered = console.page.waitForResponse(/\/complete$/);
    await console.page.getByRole("dialog").getByRole("button", { name: "Refuse" }).click();
    await answered;
    await card("Send it?").waitFor({ state: "detached" });
    const { data, completed_by: by } = await read(id);
    assert.deepEqual([data, by.kind], [{ approved: false }, "user"]);
    await console.goto(`tokens/${id}`);
    await console.page.getByText("Refused by you").waitFor();
    await console.page.getByRole("region", { name: "the completed data" }).getByText("false").waitFor();
  });

  test("tell who was faster, and with what", async () => {
    const { page } = console;
    const id = await create({ metadata: { question: "Who is first?" }, tags: ["approval"] });
    await console.goto("tokens");
    await card("Who is first?").waitFor();
    // Between the click and its request.
    await page.route(/\/complete$/, async (route) => {
      await server.call("POST", `/v1/tokens/${id}/complete`, { body: { data: { approved: false } } });
      await route.continue();
    });
    await card("Who is first?").getByRole("button", { name: "Approve" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    const told = page.getByRole("alert").filter({ hasText: "Already completed by API key key_" });
    await told.getByText('{"approved":false}').waitFor();
    await page.unroute(/\/complete$/);
    assert.deepEqual((await read(id)).data, { approved: false });
    await told.getByRole("button", { name: "Dismiss" }).click();
    await told.waitFor({ state: "detached" });
  });

  test("ask for what their schema says", async () => {
    const { page } = console;
    const id = await create({
      metadata: {
        title: "Pick a plan",
        schema: {
          type: "object",
          required: ["plan"],
          properties: {
            plan: { type: "string", enum: ["free", "pro"] },
            seats: { type: "integer", title: "Seats" },
          },
        },
      },
    });
    await console.goto(`tokens/${id}`);
    await page.getByLabel("Seats").fill("many");
    await page.getByRole("button", { name: "Complete" }).click();
    const alert = page.getByRole("alert").filter({ hasText: "Please correct:" });
    await alert.getByText("data.plan is required").waitFor();
    await alert.getByText("data.seats must be a whole number").waitFor();
    assert.equal(await page.getByLabel("Seats").getAttribute("aria-invalid"), "true");
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("token");
    await page.getByLabel("Seats").fill("3");
    await page.getByLabel("plan").selectOption("pro");
    await page.getByRole("button", { name: "Complete" }).click();
    await page.getByText("Completed by you").waitFor();
    assert.deepEqual((await read(id)).data, { plan: "pro", seats: 3 });
  });

  test("ask for lists, groups and dates as a start does", async () => {
    const { page } = console;
    const properties = {
      who: { type: "string", title: "Who \u202edecides", minLength: 2 },
      due: { type: "string", format: "date-time", default: "2026-11-20T09:15:00Z" },
      level: { enum: [1, 2] },
      reasons: { type: "array", items: { type: "string" } },
      address: { type: "object", required: ["city"], properties: { city: { type: "string" } } },
    };
    const schema = { type: "object", required: ["who", "due", "level", "address"], properties };
    const id = await create({ metadata: { title: "Decide", schema } });
    await console.goto(`tokens/${id}`);
    await page.getByLabel("Who \\u{202e}decides").fill("A");
    await page.getByLabel("due").fill("tomorrow");
    await page.getByText("must have at least 2 characters").waitFor();
    await page.getByRole("button", { name: "Complete" }).click();
    await page.getByText("must be a valid date-time", { exact: true }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("token-fields");
    await page.getByLabel("Who \\u{202e}decides").fill("Ada");
    await page.getByLabel("due").fill("2026-11-22T10:00:00Z");
    await page.getByLabel("level").selectOption("2");
    await page.getByRole("button", { name: "Add to reasons" }).click();
    await page.getByRole("textbox", { name: "reasons 1" }).fill("cheap");
    await page.getByLabel("city").fill("Ulm");
    await page.getByRole("button", { name: "Complete" }).click();
    await page.getByText("Completed by you").waitFor();
    assert.deepEqual((await read(id)).data, {
      who: "Ada",
      due: "2026-11-22T10:00:00Z",
      level: 2,
      address: { city: "Ulm" },
      reasons: ["cheap"],
    });
  });

  test("take any JSON, and are cancelled after asking", async () => {
    const { page } = console;
    const first = await create({});
    await console.goto(`tokens/${first}`);
    await page.getByLabel("Data").fill("{");
    await page.getByRole("button", { name: "Complete" }).click();
    await page.getByText(/^is not JSON/).waitFor();
    await page.getByLabel("Data").fill('{"deep": [1, "<b>"]}');
    await page.getByRole("button", { name: "Complete" }).click();
    await page.getByText("Completed by you").waitFor();
    assert.deepEqual((await read(first)).data, { deep: [1, "<b>"] });
    const second = await create({});
    await console.goto(`tokens/${second}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the token" }).click();
    await page.getByText(/^Cancelled .*: nobody can complete it/).waitFor();
    assert.equal((await read(second)).status, "cancelled");
  });

  test("that are not there, or may not be completed, are refused in words", async () => {
    await console.goto("tokens/tok_00000000000000000000000000");
    await console.page.getByRole("alert").getByText("Code not_found").waitFor();
    const id = await create({ metadata: { question: "May I?" }, tags: ["approval"] });
    const credentials = { ...server.credentials, user_token: await addUser(server, "viewer") };
    const viewer = await openConsole({ ...server, credentials });
    try {
      await viewer.goto(`tokens/${id}`);
      await viewer.page.getByRole("button", { name: "Approve" }).click();
      await viewer.page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
      await viewer.page.getByRole("alert").getByText("Code forbidden").waitFor();
    } finally {
      await viewer.close();
    }
    assert.equal((await read(id)).status, "pending");
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });
});
