import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError } from "../../exit-codes.ts";
import { describeStartFailure } from "../../up/describe-start-failure.ts";
import { startDatabase } from "../../up/start-database.ts";
import { countOf } from "../../terminal/count-of.ts";

const EXPLANATION = `
Stop all servers first: one that runs on with the old key refuses to set secrets. The key in master.key of the data folder is replaced by a new one. With the key in
KEELSON_MASTER_KEY, give the next one as KEELSON_NEW_MASTER_KEY and set it as KEELSON_MASTER_KEY afterwards.
Interrupted, it can be run again.

Examples:
  $ keelson secret rewrap
  $ openssl rand -base64 32 > next.key
  $ KEELSON_NEW_MASTER_KEY=$(cat next.key) keelson secret rewrap
`;

export function addSecretRewrap(parent: Command, cli: Cli): void {
  parent
    .command("rewrap")
    .description("Change the master key that all secrets are encrypted under")
    .addHelpText("after", EXPLANATION)
    .action(async () => {
      const { env } = cli.host;
      const { changeMasterKey, loadConfig, parseMasterKey } = await import("@keelson/server");
      const { dataDir, databaseUrl, masterKey: present } = loadConfig(env);
      const next = parseMasterKey(env["KEELSON_NEW_MASTER_KEY"] ?? "");
      if (present !== null && next === null) {
        throw new ExitError(
          EXIT.configuration,
          "KEELSON_NEW_MASTER_KEY is not 32 bytes in base64; make one with `openssl rand -base64 32`",
        );
      }
      if (present === null && env["KEELSON_NEW_MASTER_KEY"]) {
        throw new ExitError(
          EXIT.configuration,
          "KEELSON_NEW_MASTER_KEY takes the place of KEELSON_MASTER_KEY, which is not set; without both, master.key is replaced",
        );
      }
      const keys = present === null || next === null ? null : { present, next };
      const rewrap = async (): Promise<number> => {
        const database = await startDatabase(dataDir, databaseUrl, cli.notice);
        try {
          return await changeMasterKey({ databaseUrl: database.url, dataDir, keys });
        } finally {
          await database.stop();
        }
      };
      const count = await rewrap().catch((error: unknown) => {
        throw describeStartFailure(error);
      });
      if (cli.isJson()) cli.printJson({ rewrapped: count });
      else cli.print(`Encrypted ${countOf(count, "value")} under the new master key`);
      if (keys !== null) cli.notice("Start the servers with the new key in KEELSON_MASTER_KEY");
    });
}
