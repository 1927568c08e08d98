import { EXIT, ExitError } from "./exit-codes.ts";
import { describeStartFailure } from "./up/describe-start-failure.ts";

/** Why a backup or a restore failed, in one line; a place that holds something has the code of a conflict. */
export async function describeBackupFailure(error: unknown): Promise<unknown> {
  const { BackupError, NotEmptyError } = await import("@keelson/server");
  if (error instanceof NotEmptyError) return new ExitError(EXIT.conflict, error.message, { cause: error });
  if (error instanceof BackupError) return new ExitError(EXIT.failure, error.message, { cause: error });
  return describeStartFailure(error);
}
