import { join } from "node:path";
import { checkRoom } from "./check-room.ts";
import { makeWritable } from "./make-writable.ts";

export type Database = { url: string; stop: () => Promise<void> };

/** The PostgreSQL of DATABASE_URL, or the built-in one in the data folder. */
export async function startDatabase(
  dataDir: string,
  databaseUrl: string | null,
  notice: (text: string) => void,
  onStopRequest: () => void = () => undefined,
): Promise<Database> {
  await makeWritable(dataDir);
  if (databaseUrl !== null) return { url: databaseUrl, stop: async () => undefined };
  await checkRoom(dataDir);
  const { startEmbeddedServer } = await import("@keelson/server");
  notice("Starting PostgreSQL");
  return startEmbeddedServer({ dataDir: join(dataDir, "postgres"), log: notice, onStopRequest });
}
