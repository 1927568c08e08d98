// `npm test`: sets up what is missing and runs the tests; `npm test -- db/ --test-name-pattern=adopt` runs some.

import { runTypeScript } from "./run.mjs";

runTypeScript("scripts/run-tests.ts", process.argv.slice(2));
