/** Runs an agent alone. SIGTERM and SIGINT drain it, a second one ends it at once. */
import { createRequire } from "node:module";
import { pino } from "pino";
import { ConfigError, readAgentConfig, type AgentConfig } from "./config.ts";
import { startAgent } from "./start-agent.ts";

/** The exit code of sysexits.h for a wrong configuration. */
const EXIT_CONFIG = 78;

let config: AgentConfig;
try {
  config = readAgentConfig();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exit(EXIT_CONFIG);
}

const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
const logger = pino({ level: config.logLevel }, pino.destination({ fd: 2, sync: true }));
const starting = new AbortController();
let signals = 0;
let end: { drain(): Promise<void>; stop(): Promise<void> } | null = null;

const onSignal = async (signal: NodeJS.Signals): Promise<void> => {
  signals += 1;
  logger.info({ signal }, signals === 1 ? "stopping; once more ends all runs at once" : "ending all runs");
  starting.abort();
  if (end === null) process.exit(0);
  await (signals === 1 ? end.drain() : end.stop());
  process.exit(0);
};
process.on("SIGTERM", (signal) => void onSignal(signal));
process.on("SIGINT", (signal) => void onSignal(signal));

try {
  const agent = await startAgent({ ...config, version, logger, signal: starting.signal });
  end = agent;
  // Drained on the server, too: whoever keeps machines sees that this one is free.
  void agent.ended.then(() => process.exit(0));
} catch (err) {
  logger.error({ err }, "the agent could not start");
  process.exitCode = 1;
}
