import { readFileSync } from "node:fs";
import { Option, type Command } from "commander";
import { pino } from "pino";
import type { Cli } from "../cli.ts";
import { EXIT, ExitError } from "../exit-codes.ts";
import { makeWritable } from "../up/make-writable.ts";
import { untilAborted } from "../until-aborted.ts";
import { CLI_VERSION } from "../version.ts";

/** How `keelson up` starts its agent, over a channel. */
export const BESIDE_SERVER = "--beside-server";

/** Resolves when the process that started this one over a channel has gone. */
const untilDisconnected = (): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected) resolve();
    else process.once("disconnect", () => resolve());
  });

/** What the server said to an agent that it does not let in, such as one whose enrollment token was revoked. */
function refusalOf(error: unknown): ExitError | null {
  if (!(error instanceof Error) || error.name !== "ServiceError" || !("status" in error)) return null;
  const code = error.status === 401 ? EXIT.notAllowed : EXIT.failure;
  return new ExitError(code, error.message, { cause: error });
}

const HELP = `
It takes work until Ctrl-C, SIGTERM or a drain on the server, then finishes what it has or hands it back. A second Ctrl-C on a terminal
ends it at once.

Example:
  $ KEELSON_URL=https://… KEELSON_ENROLLMENT_TOKEN=kl_enr_… keelson agent
`;

export function addAgent(parent: Command, cli: Cli): void {
  parent
    .command("agent")
    .description("Run only a worker, for the server of KEELSON_URL")
    .addHelpText("after", HELP)
    .addOption(new Option(BESIDE_SERVER, "the server is in the process that starts this one").hideHelp())
    .action(async ({ besideServer = false }: { besideServer?: boolean }) => {
      const { env, signal, endInOrder } = cli.host;
      endInOrder();
      // With the server gone there is nobody to hand anything back to.
      const gone = besideServer ? untilDisconnected() : new Promise<never>(() => undefined);
      const { closeInheritedDescriptors, parseAgentConfig, startAgent } = await import("@keelson/agent");
      closeInheritedDescriptors();
      const config = parseAgentConfig(env, (path) => readFileSync(path, "utf8"));
      await makeWritable(config.dataDir);
      const destination = pino.destination({ fd: 2, sync: true });
      // A terminal that was closed: nobody reads it.
      destination.on("error", () => undefined);
      const logger = pino({ level: config.logLevel }, destination);
      const agent = await startAgent({
        ...config,
        version: CLI_VERSION,
        logger,
        signal,
        keepsUser: besideServer,
      }).catch((error: unknown) => {
        // Asked to end while it waited for its server: it holds nothing yet.
        if (signal.aborted) return null;
        throw refusalOf(error) ?? error;
      });
      if (agent === null) return;
      const cut = gone.then(() => {
        logger.warn(
          {},
          "the server's process is gone; ending, and keeping what no version has for the next start",
        );
        return agent.stop();
      });
      // The end of the channel is heard as a request to end, too.
      const drained = untilAborted(signal).then(() =>
        besideServer && !process.connected ? cut : agent.drain(),
      );
      await Promise.race([drained, cut, agent.ended]);
    });
}
