export { ConfigError, loadConfig, type Config } from "./config.ts";
export { parseMasterKey } from "./core/credentials/master-key.ts";
export { makeCredentials } from "./core/identity/make-credentials.ts";
export { changeMasterKey } from "./core/secrets/change-master-key.ts";
export { startEmbeddedServer } from "./db/embedded-server.ts";
export { migrate } from "./db/migrate.ts";
export { startServer, type RunningServer } from "./server.ts";
