import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";

type Options = SessionFlags & { stream?: string };

const EXAMPLES = `
Examples:
  $ keelson session withdraw sess_01k… 3
  $ keelson session withdraw -x ticket-17 3 --stream notes
`;

function toSequence(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw usageError(
    `"${text}" is not the sequence of a record: a number from 1, as \`session send\` prints it`,
  );
}

export function addSessionWithdraw(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent.command("withdraw").description("Withdraw an input that no run of the session has received"),
  )
    .argument("<sequence>", "the record's sequence")
    .option("--stream <name>", "another input stream than input")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, sequence: string, { stream, ...flags }: Options) => {
      const session = await openSession(cli, id, flags);
      const record = await session.withdraw(toSequence(sequence), {
        signal: cli.host.signal,
        ...(stream !== undefined && { stream }),
      });
      if (cli.isJson()) cli.printJson(record);
      else cli.print(`Withdrew record ${record.sequence} of stream ${record.stream}`);
    });
}
