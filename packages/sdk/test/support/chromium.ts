import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

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
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${WITHOUT_FEATURES.join(",")}`,
];

/** A reason to skip, or false. */
export const WITHOUT_CHROMIUM = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`;

/** The machine's Chromium, without a window; the caller closes it. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
