import { join } from "node:path";
import type { Config } from "./config.ts";
import { startEmbeddedServer } from "./db/embedded-server.ts";
import { startServer } from "./server.ts";

/** Runs one replica from the environment, with the embedded database when no other is named. */
export async function runReplica(config: Config): Promise<void> {
  const embedded =
    config.databaseUrl === null
      ? await startEmbeddedServer({ dataDir: join(config.dataDir, "postgres") })
      : null;
  const server = await startServer({
    ...config,
    databaseUrl: config.databaseUrl ?? (embedded?.url as string),
  }).catch(async (error: unknown) => {
    // A process with a database to watch would not end by itself.
    await embedded?.stop();
    throw error;
  });
  process.stdout.write(`listening on ${server.url}\n`);
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    await server.close();
    await embedded?.stop();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop());
}
