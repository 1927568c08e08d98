// `npm start`: sets up what is missing and runs `keelson up`.

import { runTypeScript } from "./run.mjs";

runTypeScript("packages/cli/src/main.ts", ["up", ...process.argv.slice(2)]);
