/** Runs an agent alone. SIGTERM, SIGINT, SIGHUP and SIGQUIT drain it, however often they come. */
import { createRequire } from "node:module";
import { pino } from "pino";
import { ConfigError, readAgentConfig, type AgentConfig } from "./config.ts";
import { closeInheritedDescriptors } from "./inherited-descriptors.ts";
import { startAgent } from "./start-agent.ts";

/** The exit code of sysexits.h for a wrong configuration. */
const EXIT_CONFIG = 78;

closeInheritedDescriptors();
let config: AgentConfig;
try {
  config = readAgentConfig();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exit(EXIT_CONFIG);
}

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
const destination = pino.destination({ fd: 2, sync: true });
// A terminal that was closed: nobody reads it.
destination.on("error", () => undefined);
const logger = pino({ level: config.logLevel }, destination);
const starting = new AbortController();
let end: { drain(): Promise<void> } | null = null;

const onSignal = async (signal: NodeJS.Signals): Promise<void> => {
  // A supervisor may send it to a whole group and pass it on as well: more of them say nothing new.
  if (starting.signal.aborted) return;
  logger.info({ signal }, "stopping");
  starting.abort();
  await end?.drain();
  process.exit(0);
};
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const)
  process.on(signal, () => void onSignal(signal));

try {
  const agent = await startAgent({ ...config, version, logger, signal: starting.signal });
  end = agent;
  // Drained on the server, too: whoever keeps machines sees that this one is free.
  void agent.ended.then(() => process.exit(0));
} catch (err) {
  logger.error({ err }, "the agent could not start");
  process.exitCode = 1;
}
