import { access, constants, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { EXIT, ExitError } from "../exit-codes.ts";

export type Database = { url: string; stop: () => Promise<void> };

async function makeWritable(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ExitError(
      EXIT.failure,
      `Cannot write to ${folder}: make it writable, or set KEELSON_DATA_DIR to another folder`,
      { cause: error },
    );
  }
}

/** The PostgreSQL of DATABASE_URL, or the built-in one in the data folder. */
export async function startDatabase(
  dataDir: string,
  databaseUrl: string | null,
  notice: (text: string) => void,
): Promise<Database> {
  await makeWritable(dataDir);
  if (databaseUrl !== null) return { url: databaseUrl, stop: async () => undefined };
  const { startEmbeddedServer } = await import("@keelson/server");
  notice("Starting PostgreSQL");
  return startEmbeddedServer({ dataDir: join(dataDir, "postgres"), log: notice });
}
