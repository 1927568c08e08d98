// Every page of the console with something to show: nothing for axe to find, in light and in dark.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startAgentSite, type AgentSite } from "./support/agent-site.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const SOURCES = resolve(import.meta.dirname, "../src");

/** What parts of an address stand for, such as `$runId`, and the pages that have a name of their own. */
type Ids = Record<string, string>;

/** The address of each page as its route has it, and a text that is there when the page has what it shows. */
const PAGES: readonly [
  under: "environment" | "organization" | "system" | "alone",
  path: string,
  shows: RegExp,
][] = [
  ["environment", "/", /Queue depth/],
  ["environment", "runs", /fix-code/],
  ["environment", "runs/$runId", /Attempt 1/],
  ["environment", "errors", /No open errors/],
  ["environment", "tasks", /fix-code/],
  ["environment", "tasks/$declaredId", /Ended runs/],
  ["environment", "tasks/$declaredId/start", /max_rounds/],
  ["environment", "actors", /declares no actor/],
  ["environment", "sessions", /No conversations yet/],
  ["environment", "tokens", /tok_/],
  ["environment", "tokens/$tokenId", /A release to approve/],
  ["environment", "workspaces", /default|code/],
  ["environment", "workspaces/$workspaceId", /slug\.sh/],
  ["environment", "schedules", /fix-code/],
  ["environment", "schedules/new", /cron/i],
  ["environment", "schedules/$scheduleId", /Next/],
  ["environment", "schedules/$scheduleId/edit", /cron/i],
  ["environment", "deployments", /current/],
  ["environment", "deployments/$deploymentId", /fix-code/],
  ["environment", "sandboxes", /default/],
  ["environment", "sandboxes/$sandboxId", /default/],
  ["environment", "secrets", /MODEL_KEY/],
  ["environment", "api-keys", /First start/],
  ["organization", "projects", /Development/],
  ["organization", "members", /owner@localhost/],
  ["organization", "invitations", /No pending invitations/],
  ["organization", "audit-log", /secrets\.put/],
  ["system", "/", /Largest tables/],
  ["system", "organizations", /Default/],
  ["system", "users", /owner@localhost/],
  ["system", "worker-groups", /wgrp_/],
  ["system", "workers", /agent/],
  ["system", "enrollment-tokens", /First start/],
  ["system", "audit-log", /user_sessions\.create/],
  ["alone", "login", /Mail address/],
  ["alone", "device", /Code shown on the device/],
  ["alone", "invitation", /Open the link/],
  ["alone", "oauth/authorize", /does not say which client asks/],
  ["alone", "connected-clients", /No connected clients yet/],
];

/** Looked at where there is one of it: `errors.test.ts`, `conversations.test.ts` and `starting.test.ts`. */
const ELSEWHERE = [
  "errors/$errorGroupId",
  "sessions/$sessionId",
  "actors/$declaredId",
  "actors/$declaredId/start",
];

test("no page of the console is left out", () => {
  const routes = globSync("features/**/*-route{,s}.ts", { cwd: SOURCES }).flatMap((file) =>
    [...readFileSync(join(SOURCES, file), "utf8").matchAll(/^\s+path: "([^"]+)"/gm)].map(
      ([, path]) => path as string,
    ),
  );
  const known = new Set([
    ...PAGES.map(([, path]) => path.replace("$sandboxId", "$declaredId")),
    ...ELSEWHERE,
  ]);
  assert.ok(routes.length > 30);
  assert.deepEqual(
    routes.filter((path) => !known.has(path)),
    [],
  );
});

describe("every page of the console", { skip: WITHOUT_CHROMIUM, timeout: 300_000 }, () => {
  let site: AgentSite;
  let console: ConsolePage;
  let ids: Ids;

  /** One of each thing that a page shows. */
  async function make(): Promise<Ids> {
    const { server, client } = site;
    const { project_id, environment_id, user_token } = server.credentials;
    const run = await client.tasks.start("fix-code", {});
    const ended = await client.runs.wait(run.id);
    const token = await client.tokens.create({ metadata: { purpose: "A release to approve" } });
    const created = await server.call("POST", "/api/schedules", {
      body: { deduplication_key: "nightly", task: "fix-code", cron: "0 3 * * *", timezone: "Europe/Berlin" },
    });
    const put = await server.call("PUT", "/api/secrets/MODEL_KEY", {
      as: user_token,
      body: { project_id, environment_id, value: "of no worth" },
    });
    assert.deepEqual([created.status, put.status], [201, 201], JSON.stringify([created.body, put.body]));
    const me = await server.call("GET", "/api/me", { as: user_token });
    return {
      environment: environment_id,
      organization: me.body.organizations[0].id,
      $runId: run.id,
      $declaredId: "fix-code",
      $sandboxId: "default",
      $tokenId: token.id,
      $workspaceId: ended.workspaceId as string,
      $scheduleId: created.body.id,
      $deploymentId: ended.deploymentId,
    };
  }

  before(async () => {
    site = await startAgentSite();
    await site.deploy("code-fixer");
    ids = await make();
    console = await openConsole(site.server);
    // Each is come to from another one.
    await console.page.goto(addressOf("alone", "connected-clients"));
  });
  after(async () => {
    await console?.close();
    await site?.stop();
  });

  const PREFIX = { environment: "/e/", organization: "/organizations/", system: "/system", alone: "" };
  const addressOf = (under: keyof typeof PREFIX, path: string): string => {
    const below = path === "/" ? "" : `/${path.replaceAll(/\$\w+/g, (name) => ids[name] ?? name)}`;
    return `${site.server.url}${PREFIX[under]}${ids[under] ?? ""}${below}`;
  };

  for (const [under, path, shows] of PAGES)
    test(`${under} ${path}`, async () => {
      const { page } = console;
      await console.follow(addressOf(under, path));
      await page.locator("main").getByText(shows).filter({ visible: true }).first().waitFor();
      assert.deepEqual(await console.violations(), []);
      const name = `${under} ${path}`.replaceAll(/[^a-z]+/gi, "-").replace(/-$/, "");
      await console.screenshot(`page-${name}`);
    });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual([console.foreign, console.problems], [[], []]);
  });
});
