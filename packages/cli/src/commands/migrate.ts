import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { EXIT, ExitError } from "../exit-codes.ts";
import { describeStartFailure } from "../up/describe-start-failure.ts";

export function addMigrate(parent: Command, cli: Cli): void {
  parent
    .command("migrate")
    .description("Apply this version's migrations to the database of DATABASE_URL")
    .addHelpText(
      "after",
      "\nA server does it at its start; this is for doing it before. Like a server, it waits for a database that cannot be reached yet.\n\nExample:\n  $ DATABASE_URL=postgres://… keelson migrate\n",
    )
    .action(async () => {
      const { listIndexBuilds, loadConfig, migrate, waitForDatabase } = await import("@keelson/server");
      const config = loadConfig(cli.host.env);
      const databaseUrl = config.databaseDirectUrl ?? config.databaseUrl;
      if (databaseUrl === null) throw new ExitError(EXIT.configuration, "DATABASE_URL is not set");
      const run = async (): Promise<{ applied: string[]; indexes: string[] }> => {
        await waitForDatabase(databaseUrl, {
          forMs: config.databaseWaitMs,
          signal: cli.host.signal,
          onWaiting: ({ address, reason }) => cli.notice(`Waiting for the database at ${address}: ${reason}`),
        });
        const applied = await migrate(databaseUrl, { onApplied: (name) => cli.notice(`Applied ${name}`) });
        return { applied, indexes: await listIndexBuilds(databaseUrl) };
      };
      const { applied, indexes } = await run().catch((error: unknown) => {
        throw describeStartFailure(error);
      });
      if (indexes.length > 0) cli.notice(`The servers build ${indexes.join(", ")} while they work`);
      if (cli.isJson()) cli.printJson({ applied, indexes });
      else cli.print(applied.length === 0 ? "The database is up to date" : `Applied ${applied.length}`);
    });
}
