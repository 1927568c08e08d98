import type { SessionState } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { readJson } from "../../read-json.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";
import { printFields } from "../../table.ts";

type Options = SessionFlags & { set?: string; setFile?: string; ifVersion?: number; idempotencyKey?: string };

const EXAMPLES = `
Examples:
  $ keelson session state sess_01k…
  $ keelson session state -x ticket-17 --set '{"topic": "delivery"}' --if-version 2
  $ keelson session state sess_01k… --json | jq '.state.questions = 0 | .state' | keelson session state sess_01k… -
`;

async function readOrSet(
  cli: Cli,
  id: string,
  argument: string | undefined,
  { set, setFile, ifVersion, idempotencyKey, ...flags }: Options,
): Promise<SessionState> {
  const source = { name: "set", fileOption: "set-file", argument, json: set, file: setFile };
  const state = await readJson(cli, source);
  const { signal } = cli.host;
  if (state === undefined && (ifVersion !== undefined || idempotencyKey !== undefined))
    throw usageError("Nothing to set: give --set, --set-file, or - for standard input");
  const session = await openSession(cli, id, flags);
  if (state === undefined) return session.state({ signal });
  return session.setState(state, {
    signal,
    ...(ifVersion !== undefined && { ifVersion }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });
}

export function addSessionState(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent.command("state").description("Show or set what a session remembers between its turns"),
  )
    .argument("[source]", "- reads the new state's JSON from standard input")
    .option("--set <json>", "replace the state")
    .option("--set-file <file>", "a file with the new state's JSON; - is standard input")
    .option(
      "--if-version <n>",
      "set it only when it still has this version; 0: it was never set",
      parseIntegerOption(0, Number.MAX_SAFE_INTEGER),
    )
    .option("--idempotency-key <key>", "a repeat with this key sets nothing again")
    .addHelpText("after", EXAMPLES)
    .action(async (id: string, argument: string | undefined, options: Options) => {
      const found = await readOrSet(cli, id, argument, options);
      if (cli.isJson()) return cli.printJson(found);
      const { sessionId, state, version, updatedAt, source } = found;
      printFields(cli, {
        session: sessionId,
        version,
        updated: updatedAt,
        by: source?.id,
        state: version === 0 ? "(never set)" : cli.wire.text(state),
      });
    });
}
