// A process that starts the built-in server, says so on stdout, and holds it until it is killed.

import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";

const [dataDir = ""] = process.argv.slice(2);
const server = await startEmbeddedServer({ dataDir });
process.stdout.write(`${JSON.stringify({ pid: server.pid, url: server.url, adopted: server.adopted })}\n`);
process.on("SIGTERM", () => void server.stop().then(() => process.exit(0)));
