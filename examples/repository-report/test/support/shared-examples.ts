import { after } from "node:test";
import { startEverything, type Everything } from "./start-everything.ts";

let started: Promise<Everything> | undefined;

/** One `keelson up` for all suites of a test file; it stays until the file ends. */
export const shareExamples = (): Promise<Everything> => (started ??= startEverything());

after(async () => {
  // A start that failed is the failure of each suite that waited for it.
  const everything = await started?.catch(() => undefined);
  await everything?.stop();
});
