// How a test starts a program of ours as a process of its own.

import path from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../../..", import.meta.url));

/** Run from sources, whatever it starts finds its packages' sources too. */
const CONDITIONS = "--conditions=@keelson/source";
export const PROGRAM_FLAGS = [CONDITIONS, "--enable-source-maps"];

/**
 * The file of a program: `agent/src/main.ts`. `npm test` has bundled them from the sources; a test file that is run by hand
 * has the source itself.
 */
export function programFile(main: string): string {
  const bundles = process.env["KEELSON_TEST_PROGRAMS"];
  return bundles === undefined ? path.join(PACKAGES, main) : path.join(bundles, main.replace(/\.ts$/, ".js"));
}

/**
 * What Node is told to run it. A bundle goes without its maps: the log library asks who calls it, and to say so Node reads the
 * map of the whole bundle, a fifth of what a start takes.
 */
export const programArguments = (main: string): string[] => {
  const isBundled = process.env["KEELSON_TEST_PROGRAMS"] !== undefined;
  return [...(isBundled ? [CONDITIONS] : PROGRAM_FLAGS), programFile(main)];
};
