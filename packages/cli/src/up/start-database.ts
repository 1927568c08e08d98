import { join } from "node:path";
import { makeWritable } from "./make-writable.ts";

export type Database = { url: string; stop: () => Promise<void> };

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
