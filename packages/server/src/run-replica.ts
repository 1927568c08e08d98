import { join } from "node:path";
import type { Config } from "./config.ts";
import { startEmbeddedServer } from "./embedded-postgres/embedded-server.ts";
import { loadServer } from "./load-server.ts";

/** Runs one replica from the environment until it is told to end, with the embedded database when no other is named. */
export async function runReplica(config: Config): Promise<void> {
  const asked = Promise.withResolvers<void>();
  // However often: a supervisor may send it to a whole group and pass it on as well.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)
    process.on(signal, () => asked.resolve());
  // A terminal that was closed: nobody reads what is written.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const loading = loadServer();
  const embedded =
    config.databaseUrl === null
      ? await startEmbeddedServer({
          dataDir: join(config.dataDir, "postgres"),
          log: (text) => void process.stderr.write(`${text}\n`),
          onStopRequest: () => asked.resolve(),
        })
      : null;
  const databaseUrl = config.databaseUrl ?? (embedded?.url as string);
  const server = await loading
    .then(({ startServer }) => startServer({ ...config, databaseUrl }))
    .catch(async (error: unknown) => {
      // A process with a database to watch would not end by itself.
      await embedded?.stop();
      throw error;
    });
  process.stdout.write(`listening on ${server.url}\n`);
  await asked.promise;
  await server.close();
  await embedded?.stop();
}
