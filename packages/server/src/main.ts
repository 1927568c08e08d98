import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { ConfigError, loadConfig } from "./config.ts";

// The compiled code is kept in the account's own folder: what lies in a shared one could be another's. Everything large
// is loaded after that, hence the dynamic import.
enableCompileCache(join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "keelson", "compiled"));

try {
  const config = loadConfig(process.env);
  const { runReplica } = await import("./run-replica.ts");
  await runReplica(config);
} catch (error) {
  process.stderr.write(`keelson: ${(error as Error).message}\n`);
  process.exitCode = error instanceof ConfigError ? error.exitCode : 1;
}
