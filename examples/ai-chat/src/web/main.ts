// `npm run ai-chat`: the backend of the page, and the page.

import { readConfig } from "./config.ts";
import { startWeb } from "./start-web.ts";

const config = readConfig(process.env, process.cwd());
const { url, stop } = await startWeb(config);
console.log(`Chat at ${url} (Keelson is at ${config.url}). Ctrl-C ends.`);
let stopping: Promise<void> | undefined;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void (stopping ??= stop()));
