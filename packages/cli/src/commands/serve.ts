import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { EXIT, ExitError } from "../exit-codes.ts";
import { describeStartFailure } from "../up/describe-start-failure.ts";
import { untilAborted } from "../until-aborted.ts";

export function addServe(parent: Command, cli: Cli): void {
  parent
    .command("serve")
    .description("Run only the server, on the PostgreSQL of DATABASE_URL")
    .addHelpText(
      "after",
      "\nAny number of servers may share one database. `keelson up` runs all parts on this machine.\n\nExample:\n  $ DATABASE_URL=postgres://… PORT=8080 keelson serve\n",
    )
    .action(async () => {
      const { env, signal, endInOrder } = cli.host;
      endInOrder();
      const { loadConfig, loadServer } = await import("@keelson/server");
      const config = loadConfig(env);
      const { databaseUrl } = config;
      if (databaseUrl === null)
        throw new ExitError(
          EXIT.configuration,
          "DATABASE_URL is not set; `keelson up` brings its own PostgreSQL",
        );
      const { startServer } = await loadServer();
      const server = await startServer({ ...config, databaseUrl }, { signal }).catch((error: unknown) => {
        throw describeStartFailure(error);
      });
      cli.notice(`Serving at ${server.url}`);
      await untilAborted(signal);
      await server.close();
    });
}
