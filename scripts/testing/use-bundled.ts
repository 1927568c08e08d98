// Loaded before a test file: what it imports of the sources that `npm test` has bundled comes from the bundle, so that each
// module exists once.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import path from "node:path";
import { STAND_INS } from "./bundled-sources.ts";

const folder = process.env["KEELSON_TEST_PROGRAMS"];
if (folder !== undefined) {
  const text = readFileSync(path.join(folder, STAND_INS), "utf8");
  const standIns = new Map(Object.entries(JSON.parse(text) as Record<string, string>));
  registerHooks({
    load: (url, context, next) => {
      const source = standIns.get(url);
      return source === undefined ? next(url, context) : { format: "module", source, shortCircuit: true };
    },
  });
}
