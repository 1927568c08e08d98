import type { CopySession, TableShape } from "../../db/copy-tables.ts";
import type { Sql } from "../../db/sql.ts";
import type { ArchiveWriter } from "./archive-writer.ts";
import type { BackupProgress, BackupTable } from "./backup.ts";

/** Rows are gathered up to this before they are compressed and written. */
const PART_BYTES = 8 * 1024 * 1024;

/** One table in the archive, which may be copied in several goes. */
export type TableParts = {
  readonly columns: readonly string[];
  /** Adds these rows, or all; see `CopySession.copyOut`. */
  copy(rows?: Sql): Promise<void>;
  /** What is gathered is written. @returns what the manifest says of the table. */
  end(): Promise<BackupTable>;
};

export type CopyContext = {
  session: CopySession;
  signal: AbortSignal;
  tell: (progress: BackupProgress) => void;
};

export function openTableParts(
  { session, signal, tell }: CopyContext,
  archive: ArchiveWriter,
  { name, columns }: TableShape,
): TableParts {
  const parts: string[] = [];
  let gathered: Buffer[] = [];
  let gatheredBytes = 0;
  let doneBytes = 0;
  let rowCount = 0;
  const flush = async (): Promise<void> => {
    const part = `tables/${name}/${String(parts.length + 1).padStart(6, "0")}.copy.zst`;
    await archive.add(part, Buffer.concat(gathered));
    parts.push(part);
    doneBytes += gatheredBytes;
    gathered = [];
    gatheredBytes = 0;
    tell({ what: name, done: doneBytes, of: null });
  };
  return {
    columns,
    copy: async (wanted) => {
      rowCount += await session.copyOut({ name, columns }, wanted, async (chunk) => {
        signal.throwIfAborted();
        gathered.push(chunk);
        gatheredBytes += chunk.length;
        if (gatheredBytes >= PART_BYTES) await flush();
      });
    },
    end: async () => {
      if (gatheredBytes > 0) await flush();
      return { name, columns: [...columns], rows: rowCount, parts };
    },
  };
}
