import { resolve, sep } from "node:path";
import type { Command } from "commander";
import { showProgress, sizeOf } from "../backup-progress.ts";
import type { Cli } from "../cli.ts";
import { describeMissing } from "../describe-missing-blobs.ts";
import { EXIT, ExitError } from "../exit-codes.ts";
import { lowerPriority } from "../lower-priority.ts";
import { describeBackupFailure } from "../describe-backup-failure.ts";
import { CLI_VERSION } from "../version.ts";
import { countOf } from "../terminal/count-of.ts";

const KEYS_LEFT_OUT =
  "The master key is not in it, so that who has the archive cannot read secrets: keep master.key (or KEELSON_MASTER_KEY) elsewhere, a restore needs it.";

export function addBackup(parent: Command, cli: Cli): void {
  parent
    .command("backup")
    .argument("<file|folder>", "what to write; in a folder (folder/) the file is named by the time")
    .description("Back up everything into one archive while the servers keep running")
    .option(
      "--include-keys",
      "also the master key and credentials.json: who has the archive then has everything",
    )
    .addHelpText(
      "after",
      "\nOf the data folder (KEELSON_DATA_DIR) and its PostgreSQL, or that of DATABASE_URL.\n\nExample:\n  $ keelson backup /var/backups/keelson/\n",
    )
    .action(async (place: string, { includeKeys = false }: { includeKeys?: boolean }) => {
      const { env, cwd, signal } = cli.host;
      const { loadConfig, runBackup } = await import("@keelson/server");
      const config = loadConfig(env);
      lowerPriority();
      const progress = showProgress(cli);
      const { file, manifest, sizeBytes } = await runBackup(config, {
        place: `${resolve(cwd, place)}${/[/\\]$/.test(place) ? sep : ""}`,
        includeKeys,
        version: CLI_VERSION,
        signal,
        tell: progress.tell,
        notice: cli.notice,
      })
        .catch(async (error: unknown) => {
          throw signal.aborted ? signal.reason : await describeBackupFailure(error);
        })
        .finally(progress.clear);
      const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
      const missing = manifest.missing_blobs ?? [];
      if (cli.isJson()) {
        cli.printJson({
          file,
          size_bytes: sizeBytes,
          snapshot_at: manifest.snapshot_at,
          rows,
          blobs: manifest.blobs.count,
          includes_keys: manifest.includes_keys,
          missing_blobs: missing,
        });
        if (missing.length > 0) throw new ExitError(EXIT.failure);
        return;
      }
      cli.print(
        `Wrote ${file}: ${countOf(rows, "row")} as of ${manifest.snapshot_at}, ${countOf(manifest.blobs.count, "blob")}, ${sizeOf(sizeBytes)}`,
      );
      if (!includeKeys) cli.notice(KEYS_LEFT_OUT);
      if (missing.length > 0) throw new ExitError(EXIT.failure, describeMissing(missing));
    });
}
