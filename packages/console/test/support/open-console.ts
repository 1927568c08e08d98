// The console in a real browser, signed in by the link that the first start prints.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { launchChromium } from "../../../sdk/test/support/chromium.ts";
import type { ApiServer } from "../../../server/test/support/api-server.ts";

/** Where pictures of the pages are kept, when someone asks for them. */
const KEELSON_SCREENSHOTS = process.env["KEELSON_SCREENSHOTS"] ?? "";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

export type ConsolePage = {
  page: Page;
  context: BrowserContext;
  /** What a page threw or the browser refused, such as what the page's policy forbids. Empty in a good test. */
  problems: string[];
  /** Addresses of other origins that were asked for. Empty in a good test. */
  foreign: string[];
  /** The address of a page of the first environment: `at("runs")`. */
  at(path: string): string;
  /** Goes to a page of the first environment, as a link of the console does where it can. */
  goto(path: string): Promise<void>;
  /** Goes to the address of another page as a link does: the document stays, and with it the console's code and axe. */
  follow(address: string): Promise<void>;
  /** What axe finds wrong with the page as it is shown, in both colour schemes. */
  violations(): Promise<string[]>;
  /** Keeps the page as it is shown as `<name>-light.png` and `<name>-dark.png`, where KEELSON_SCREENSHOTS is a folder. */
  screenshot(name: string): Promise<void>;
  close(): Promise<void>;
};

type OpenOptions = {
  /** Opens the start page without signing in. */
  isStranger?: boolean;
  viewport?: { width: number; height: number };
};

/** Close it in an `after` hook. */
export async function openConsole(server: ApiServer, options: OpenOptions = {}): Promise<ConsolePage> {
  const browser = await launchChromium();
  const context = await browser.newContext({
    viewport: options.viewport ?? { width: 1280, height: 800 },
    // A pulsing dot is drawn sixty times a second, in three processes, for as long as a test waits.
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  const foreign: string[] = [];
  page.on("pageerror", ({ message }) => problems.push(message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      problems.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.url) && !/^(data|blob):/.test(url)) foreign.push(url);
  });
  const { user_token, project_id, environment_id } = server.credentials;
  const at = (path: string): string => `${server.url}/e/${environment_id}${path === "" ? "" : `/${path}`}`;
  if (options.isStranger !== true) {
    const fragment = new URLSearchParams({ token: user_token, project_id, environment_id });
    await page.goto(`${server.url}/#${fragment.toString()}`);
    await page.getByRole("navigation", { name: "Pages" }).waitFor({ state: "attached" });
  }
  return {
    page,
    context,
    problems,
    foreign,
    at,
    goto: async (path) => {
      const address = at(path);
      if (placeOf(page.url()) === placeOf(address) || !page.url().startsWith(server.url))
        await page.goto(address);
      else await follow(page, address);
    },
    follow: (address) => follow(page, address),
    violations: () => violationsOf(page),
    screenshot: (name) => keepScreenshots(page, name),
    close: () => browser.close(),
  };
}

/** Of addresses that are shown in one place of the console, which may keep its heading: the tasks, or one task or another. */
function placeOf(address: string): string {
  const [, , , list = "", ...within] = new URL(address).pathname.split("/");
  return `${list} ${within.length}`;
}

/** The heading of the page that is left is marked, as it stays until the next one has what it shows. */
async function follow(page: Page, address: string): Promise<void> {
  await page.evaluate(`
    for (const heading of document.querySelectorAll("h1")) heading.dataset.left = "";
    history.pushState(null, "", ${JSON.stringify(address)});`);
  await page.locator("h1:not([data-left])").waitFor();
}

/** Resolves when the page is drawn in it: until then some of its colours are of the one before. */
async function showScheme(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(`(async () => {
    for (let frames = 0; frames < 2; frames += 1) await new Promise((done) => requestAnimationFrame(done));
    const changing = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.allSettled(changing.map(({ finished }) => finished));
  })()`);
}

/** All rules in one scheme, and in the other those that look at colours: these are all that differs, by `style.css`. */
const RULES = { light: null, dark: ["color-contrast", "link-in-text-block"] } as const;

async function violationsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(AXE);
  for (const [colorScheme, runOnly] of Object.entries(RULES) as [keyof typeof RULES, string[] | null][]) {
    await showScheme(page, colorScheme);
    const how = { resultTypes: ["violations"], ...(runOnly !== null && { runOnly }) };
    const violations: string[] = await page.evaluate(`axe.run(${JSON.stringify(how)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`);
    found.push(...violations.map((violation) => `${colorScheme}: ${violation}`));
  }
  return found;
}

async function keepScreenshots(page: Page, name: string): Promise<void> {
  if (KEELSON_SCREENSHOTS === "") return;
  mkdirSync(KEELSON_SCREENSHOTS, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await showScheme(page, colorScheme);
    await page.screenshot({ path: join(KEELSON_SCREENSHOTS, `${name}-${colorScheme}.png`) });
  }
}
