export { ConfigError, loadConfig, type Config } from "./config.ts";
export { startEmbeddedServer } from "./db/embedded-server.ts";
export { migrate } from "./db/migrate.ts";
export { startServer, type RunningServer } from "./server.ts";
