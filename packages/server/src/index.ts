export { ConfigError, loadConfig, type Config } from "./config.ts";
export { BackupError, NotEmptyError, type BackupProgress } from "./core/backups/backup.ts";
export { parseMasterKey } from "./core/credentials/master-key.ts";
export { changeMasterKey } from "./core/secrets/change-master-key.ts";
export { startEmbeddedServer } from "./db/embedded-server.ts";
export { migrate } from "./db/migrate.ts";
export { runBackup } from "./run-backup.ts";
export { runRestore } from "./run-restore.ts";
export { startServer, type RunningServer } from "./server.ts";
