// Tasks and actors, and what starts them: a form of fields by the declared schema.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { addUser } from "../../server/test/support/tenancy.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const options = { skip: WITHOUT_CHROMIUM, timeout: 120_000 };

const ORDER = {
  type: "object",
  additionalProperties: false,
  required: ["customer", "size", "kind", "delivery"],
  properties: {
    customer: { type: "string", minLength: 3, description: "Who asked for it." },
    size: { type: "integer", minimum: 1, maximum: 5, default: 2 },
    kind: { enum: ["small", "large"] },
    gift: { type: "boolean" },
    note: { type: ["string", "null"] },
    lines: {
      type: "array",
      items: { type: "object", required: ["sku"], properties: { sku: { type: "string" } } },
    },
    delivery: {
      oneOf: [
        {
          type: "object",
          required: ["by", "street"],
          properties: { by: { const: "mail" }, street: { type: "string" } },
        },
        { type: "object", required: ["by"], properties: { by: { const: "hand" } } },
      ],
    },
    // What the page's own interpreter leaves to the server.
    code: { type: "string", pattern: "^(ab)+$" },
  },
};

describe("starting from the console", options, () => {
  let scene: RunScene;
  let console: ConsolePage;
  before(async () => {
    scene = await startRunScene({
      tasks: [
        { id: "order", description: "Takes an order.", payload_schema: ORDER, queue: "orders" },
        { id: "plain" },
      ],
      actors: [{ id: "chat", description: "Talks." }],
    });
    console = await openConsole(scene.server);
  });
  after(async () => {
    await console?.close();
    await scene?.stop();
  });

  const newestRun = async () => (await scene.call("GET", "/v1/runs?limit=1")).body.runs[0];

  test("a task says what it is, and that it has not run", async () => {
    const { page } = console;
    await console.goto("tasks");
    await page.getByRole("link", { name: "order", exact: true }).click();
    await page.getByRole("heading", { name: "order" }).waitFor();
    await page.getByText("No runs yet").waitFor();
    await page.getByText("Takes an order.").waitFor();
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("task");
  });

  test("the form begins with defaults and says at each field what is wrong", async () => {
    const { page } = console;
    await page.getByRole("link", { name: "Start", exact: true }).click();
    await page.getByRole("heading", { name: "Start order" }).waitFor();
    assert.equal(await page.getByLabel("size").inputValue(), "2");
    await page.getByLabel("customer").fill("ab");
    await page.getByLabel("size").fill("9");
    await page.getByText("must have at least 3 characters").waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    const alert = page.getByRole("alert").filter({ hasText: "Please correct:" });
    for (const text of [
      "payload.size must be at most 5",
      "payload.kind is required",
      "payload.delivery.street is required",
    ])
      await alert.getByText(text).waitFor();
    assert.equal(await page.evaluate("document.activeElement.getAttribute('aria-invalid')"), "true");
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("start-task");
  });

  test("JSON and fields are two views of one payload", async () => {
    const { page } = console;
    await page.getByLabel("customer").fill("Ada");
    await page.getByLabel("size").fill("3");
    await page.getByLabel("kind").selectOption("large");
    await page.getByLabel("gift (optional)").selectOption("true");
    await page.getByLabel("note is null").check();
    await page.getByRole("button", { name: "Add to lines" }).click();
    await page.getByLabel("sku").fill("one");
    await page.getByRole("button", { name: "Add to lines" }).click();
    await page.getByLabel("sku").last().fill("two");
    await page.getByRole("button", { name: "Remove lines 1" }).click();
    await page.getByLabel("delivery").selectOption("by: hand");
    await page.getByRole("button", { name: "As JSON" }).click();
    const json = page.getByLabel("payload as JSON");
    assert.deepEqual(JSON.parse(await json.inputValue()), {
      customer: "Ada",
      size: 3,
      kind: "large",
      delivery: { by: "hand" },
      gift: true,
      note: null,
      lines: [{ sku: "two" }],
    });
    await json.fill((await json.inputValue()).replace('"Ada"', '"Grace"'));
    await page.getByRole("button", { name: "As JSON" }).click();
    assert.equal(await page.getByLabel("customer").inputValue(), "Grace");
    assert.equal(await page.getByLabel("sku").inputValue(), "two");
  });

  test("says at the field what the server refuses, then leads to the run", async () => {
    const { page } = console;
    await page.getByLabel("code (optional)").fill("abc");
    await page.getByText("Options").click();
    await page.getByLabel("priority (optional)").fill("7");
    await page.getByRole("button", { name: "Add to tags" }).click();
    await page.getByRole("textbox", { name: "tags 1" }).fill("by hand");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Code invalid_payload").waitFor();
    const code = page.getByLabel("code (optional)");
    assert.equal(await code.getAttribute("aria-invalid"), "true");
    await code.fill("abab");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/\/runs\/run_/);
    const run = await newestRun();
    assert.equal(page.url(), console.at(`runs/${run.id}`));
    assert.deepEqual(
      [run.payload.customer, run.payload.code, run.tags, run.priority],
      ["Grace", "abab", ["by hand"], 7],
    );
  });

  test("an actor's start leads to its session", async () => {
    const { page } = console;
    await console.goto("actors");
    await page.getByRole("link", { name: "Start chat" }).waitFor();
    assert.deepEqual(await console.violations(), []);
    await page.getByRole("link", { name: "Start chat" }).click();
    await page.getByLabel("input as JSON").fill('{"text": "Hello"}');
    await page.getByLabel("external_id (optional)").fill("customer 4711");
    assert.deepEqual(await console.violations(), []);
    await console.screenshot("start-actor");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.waitForURL(/\/sessions\/sess_/);
    const { body } = await scene.call("GET", `/v1/sessions/${page.url().split("/").at(-1)}`);
    assert.deepEqual([body.actor, body.external_id], ["chat", "customer 4711"]);
  });

  test("a name that the current deployment does not declare", async () => {
    const { page } = console;
    await console.goto("tasks/gone");
    await page.getByText("declares no task of this name").waitFor();
    assert.deepEqual(await console.violations(), []);
  });

  test("an environment without a deployment says how to make one", async () => {
    const { page } = console;
    const places = page.getByLabel("Environment");
    await console.goto("");
    await places.selectOption({ label: "Default / Production" });
    for (const [link, text] of [
      ["Tasks", "declares no tasks"],
      ["Actors", "declares no actors"],
      ["Deployments", "No deployments yet"],
    ] as const) {
      await page.getByRole("link", { name: link, exact: true }).click();
      await page.getByText(text).waitFor();
      assert.deepEqual(await console.violations(), []);
    }
  });

  test("a viewer is told that they may not", async () => {
    const { server } = scene;
    const credentials = { ...server.credentials, user_token: await addUser(server, "viewer") };
    const viewer = await openConsole({ ...server, credentials });
    try {
      await viewer.goto("tasks/plain/start");
      await viewer.page.getByLabel("payload as JSON").fill('{"kept": true}');
      await viewer.page.getByRole("button", { name: "Start", exact: true }).click();
      await viewer.page.getByText("Code forbidden").waitFor();
      assert.equal(await viewer.page.getByLabel("payload as JSON").inputValue(), '{"kept": true}');
    } finally {
      await viewer.close();
    }
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(console.foreign, []);
    assert.deepEqual(console.problems, []);
  });
});
