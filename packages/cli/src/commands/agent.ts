import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { loadAgent } from "../server-module.ts";
import { untilAborted } from "../until-aborted.ts";

/** Resolves when the process that started this one over a channel has gone; never without one. */
const untilParentGone = (): Promise<void> =>
  new Promise((resolve) => {
    if (process.channel) process.once("disconnect", resolve);
  });

export function addAgent(parent: Command, cli: Cli): void {
  parent
    .command("agent")
    .description("Run a worker alone, for the server of KEELSON_URL")
    .addHelpText("after", "\nIt takes work until Ctrl-C or SIGTERM, then finishes or hands back what it has.\n\nExample:\n  $ KEELSON_URL=https://… KEELSON_ENROLLMENT_TOKEN=kl_enr_… keelson agent\n")
    .action(async () => {
      const { env, signal } = cli.host;
      const { loadConfig, startAgent } = await loadAgent();
      const agent = await startAgent(loadConfig(env));
      await Promise.race([agent.ended, untilAborted(signal), untilParentGone()]);
      await agent.close();
    });
}
