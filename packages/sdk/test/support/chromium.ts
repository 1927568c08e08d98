import { existsSync } from "node:fs";
import { chromium, type Browser, type BrowserServer } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";
/**
 * What Playwright switches off, as Chromium obeys the last of such lists alone, and the pages that Chromium keeps ready for
 * the suggestions of its address bar: two for each window, which take as much processor as many a test.
 */
const WITHOUT_FEATURES = [
  ...["AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"],
  ...["DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay"],
  ...["MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"],
  ...["TcpPortRandomizationWin", "ThirdPartyStoragePartitioning"],
  ...["WebUIOmniboxAimPopup", "WebUIOmniboxPopup"],
];
/** A page of a test lives for seconds: what optimizing its code takes, a tenth of a page, it never wins back. */
const COMPILER = process.env["KEELSON_TEST_LONG"] === "1" ? [] : ["--js-flags=--no-opt,--no-maglev"];
const FLAGS = [
  ...COMPILER,
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${WITHOUT_FEATURES.join(",")}`,
];
const HOW = { executablePath: CHROMIUM, args: FLAGS };

/** Where the run that this file belongs to says at which address its Chromium is; see `shareChromium`. */
const SHARED = process.env["KEELSON_TEST_CHROMIUM"];

/** A reason to skip, or false. */
export const WITHOUT_CHROMIUM = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`;

/**
 * The machine's Chromium, without a window: that of the whole run of tests, or one of its own for a file that runs by itself.
 * The caller closes it, which ends what it opened.
 */
export async function launchChromium(): Promise<Browser> {
  if (SHARED === undefined) return chromium.launch(HOW);
  const response = await fetch(SHARED);
  const text = await response.text();
  if (!response.ok) throw new Error(`The Chromium of this run does not start: ${text}`);
  return chromium.connect(text);
}

/** One for many processes, which ends when the caller says so and not by a signal. */
export const serveChromium = (env: Readonly<Record<string, string>>): Promise<BrowserServer> =>
  chromium.launchServer({
    ...HOW,
    env,
    ...{ host: "127.0.0.1", handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
  });
