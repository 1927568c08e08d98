// `npm test`: sets up what is missing and runs the tests; `npm test -- db/ --test-name-pattern=adopt` runs some.

import { ensureConsole } from "./console.mjs";
import { runTypeScript } from "./run.mjs";
import { ensureSetUp } from "./setup.mjs";

ensureConsole(ensureSetUp());

runTypeScript("scripts/run-tests.ts", process.argv.slice(2));
