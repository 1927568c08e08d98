// `npm start`: sets up what is missing and runs `keelson up`.

import { ensureConsole } from "./console.mjs";
import { runTypeScript } from "./run.mjs";
import { ensureSetUp } from "./setup.mjs";

ensureConsole(ensureSetUp());

runTypeScript("packages/cli/src/main.ts", ["up", ...process.argv.slice(2)]);
