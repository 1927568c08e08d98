import { resolve } from "node:path";
import type { Command } from "commander";
import { showProgress } from "../backup-progress.ts";
import type { Cli } from "../cli.ts";
import { describeAffected, describeMissing } from "../describe-missing-blobs.ts";
import { describeBackupFailure } from "../describe-backup-failure.ts";
import { makeWritable } from "../up/make-writable.ts";
import { countOf } from "../terminal/count-of.ts";

export function addRestore(parent: Command, cli: Cli): void {
  parent
    .command("restore")
    .argument("<file|folder>", "the backup; of a folder the newest")
    .description("Restore a backup into an empty data folder")
    .option("--check", "only check that the archive is complete and that this version can restore it")
    .addHelpText(
      "after",
      "\nInto KEELSON_DATA_DIR, and the empty database of DATABASE_URL where it is set. Unless the backup holds it, the\nmaster key must be in KEELSON_MASTER_KEY or as master.key in the otherwise empty folder.\n\nExample:\n  $ KEELSON_DATA_DIR=/srv/keelson keelson restore /var/backups/keelson/\n",
    )
    .action(async (place: string, { check = false }: { check?: boolean }) => {
      const { env, cwd, signal } = cli.host;
      const { loadConfig, runRestore } = await import("@keelson/server");
      const config = loadConfig(env);
      if (!check) await makeWritable(config.dataDir);
      const progress = showProgress(cli);
      const { file, manifest, heldRuns, affected } = await runRestore(config, {
        place: resolve(cwd, place),
        checkOnly: check,
        signal,
        tell: progress.tell,
        notice: cli.notice,
      })
        .catch(async (error: unknown) => {
          throw signal.aborted ? signal.reason : await describeBackupFailure(error);
        })
        .finally(progress.clear);
      const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
      if (cli.isJson()) {
        cli.printJson({
          file,
          restored: !check,
          data_dir: check ? null : config.dataDir,
          snapshot_at: manifest.snapshot_at,
          rows,
          blobs: manifest.blobs.count,
          held_runs: heldRuns,
          missing_blobs: check ? (manifest.missing_blobs ?? []) : affected,
        });
        return;
      }
      const what = `${countOf(rows, "row")} as of ${manifest.snapshot_at} and ${countOf(manifest.blobs.count, "blob")}`;
      cli.print(
        check ? `${file} is complete: ${what}` : `Restored ${what} from ${file} into ${config.dataDir}`,
      );
      if (check && manifest.missing_blobs !== undefined) cli.notice(describeMissing(manifest.missing_blobs));
      for (const line of affected.map(describeAffected)) cli.notice(line);
      if (heldRuns > 0)
        cli.notice(
          `A worker held ${countOf(heldRuns, "run")} when the backup was made; retries follow as attempts are left.`,
        );
    });
}
