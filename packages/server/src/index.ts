export { ConfigError, loadConfig, type Config } from "./config.ts";
export {
  BackupError,
  NotEmptyError,
  type Affected,
  type BackupProgress,
  type MissingBlob,
} from "./core/backups/backup.ts";
export { parseMasterKey } from "./core/credentials/master-key.ts";
export { makeCredentials } from "./core/identity/make-credentials.ts";
export { changeMasterKey } from "./core/secrets/change-master-key.ts";
export { startEmbeddedServer } from "./embedded-postgres/embedded-server.ts";
export { listIndexBuilds } from "./db/index-builds.ts";
export { migrate } from "./db/migrate.ts";
export { waitForDatabase } from "./db/wait-for-database.ts";
export { runBackup } from "./run-backup.ts";
export { runRestore } from "./run-restore.ts";
export { loadServer } from "./load-server.ts";
export type { RunningServer } from "./server.ts";
