import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A reason to skip, or false. */
export const WITHOUT_CHROMIUM = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`;

/** The machine's Chromium, without a window; the caller closes it. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
