import type { Command } from "commander";
import type { Cli } from "../../cli.ts";

export function addAuditExport(parent: Command, cli: Cli): void {
  parent
    .command("export")
    .description("Print all events of a chain, oldest first, one JSON object per line")
    .option("--organization <id>", "of this organization (default: what belongs to none)")
    .option("--cursor <n>", "only what comes after this sequence number")
    .addHelpText("after", "\nExample:\n  $ keelson audit export --organization org_01k… > audit.ndjson\n")
    .action(async ({ organization, cursor }: { organization?: string; cursor?: string }) => {
      const { auditEvents } = cli.admin();
      const query = { organizationId: organization, cursor };
      for await (const line of auditEvents.export(query, { signal: cli.host.signal })) cli.print(line);
    });
}
