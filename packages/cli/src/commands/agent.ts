import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { pino } from "pino";
import type { Cli } from "../cli.ts";
import { EXIT, ExitError } from "../exit-codes.ts";
import { untilAborted } from "../until-aborted.ts";
import { CLI_VERSION } from "../version.ts";

/** Resolves when the process that started this one over a channel has gone; never without one. */
const untilParentGone = (): Promise<"gone"> =>
  new Promise((resolve) => {
    if (process.channel) process.once("disconnect", () => resolve("gone"));
  });

/** What the server said to an agent that it does not let in, such as one whose enrollment token was revoked. */
function refusalOf(error: unknown): ExitError | null {
  if (!(error instanceof Error) || error.name !== "ServiceError" || !("status" in error)) return null;
  const code = error.status === 401 ? EXIT.notAllowed : EXIT.failure;
  return new ExitError(code, error.message, { cause: error });
}

const HELP = `
It takes work until Ctrl-C, SIGTERM or a drain on the server, then finishes what it has or hands it back; a second one ends it at once.

Example:
  $ KEELSON_URL=https://… KEELSON_ENROLLMENT_TOKEN=kl_enr_… keelson agent
`;

export function addAgent(parent: Command, cli: Cli): void {
  parent
    .command("agent")
    .description("Run a worker alone, for the server of KEELSON_URL")
    .addHelpText("after", HELP)
    .action(async () => {
      const { env, signal } = cli.host;
      const { parseAgentConfig, startAgent } = await import("@keelson/agent");
      const config = parseAgentConfig(env, (path) => readFileSync(path, "utf8"));
      const logger = pino({ level: config.logLevel }, pino.destination({ fd: 2, sync: true }));
      const agent = await startAgent({ ...config, version: CLI_VERSION, logger, signal }).catch(
        (error: unknown) => {
          // Asked to end while it waited for its server: it holds nothing yet.
          if (signal.aborted) return null;
          throw refusalOf(error) ?? error;
        },
      );
      if (agent === null) return;
      // The parent of `up` holds the server too: with it gone there is nobody to hand anything back to.
      const why = await Promise.race([untilAborted(signal), untilParentGone(), agent.ended]);
      if (why === "gone") await agent.stop();
      else await agent.drain();
    });
}
