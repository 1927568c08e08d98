import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { EXIT, ExitError, usageError } from "../../exit-codes.ts";
import { verifyAuditEvents, type AuditHead } from "../../verify-audit-events.ts";

const HELP = `
It computes every digest here and believes the server nothing. Keep the head that it writes somewhere else: given next
time, it tells whether the end was cut off and written again meanwhile.

Examples:
  $ keelson audit verify --organization org_01k… --head 4711:9f86d0…
  $ keelson audit verify --file audit.ndjson
`;

function parseHead(text: string): AuditHead {
  const [, sequence, digest] = /^([1-9][0-9]{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (sequence === undefined || digest === undefined)
    throw usageError("A head is a sequence number and 64 hexadecimal digits, such as 4711:9f86d0…");
  return { sequence: Number(sequence), digest };
}

const linesOf = (path: string): AsyncIterable<string> =>
  createInterface({ input: createReadStream(path), crlfDelay: Infinity });

export function addAuditVerify(parent: Command, cli: Cli): void {
  parent
    .command("verify")
    .description("Check that no event of a chain was changed, removed or moved")
    .option("--organization <id>", "of this organization (default: what belongs to none)")
    .option("--file <path>", "read an export instead of the server")
    .option(
      "--head <sequence:digest>",
      "the newest event of an earlier time, which must still be there",
      parseHead,
    )
    .addHelpText("after", HELP)
    .action(async (options: { organization?: string; file?: string; head?: AuditHead }) => {
      const lines =
        options.file === undefined
          ? cli
              .admin()
              .auditEvents.export({ organizationId: options.organization }, { signal: cli.host.signal })
          : linesOf(options.file);
      const { events, head, fault } = await verifyAuditEvents(lines, options.head ?? null);
      if (cli.isJson()) cli.printJson({ valid: fault === null, events, head, fault });
      if (fault !== null) throw new ExitError(EXIT.failure, cli.isJson() ? "" : fault);
      if (cli.isJson()) return;
      cli.notice(`${events} events are as they were written.`);
      if (head !== null) cli.print(`${head.sequence}:${head.digest}`);
    });
}
