import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { exportAuditEvents } from "../../export-audit-events.ts";

export function addAuditExport(parent: Command, cli: Cli): void {
  parent
    .command("export")
    .description("Write all events of a chain, oldest first, one JSON object a line")
    .option("--organization <id>", "of this organization (default: what belongs to none)")
    .option("--cursor <n>", "only what comes after this sequence number")
    .addHelpText("after", "\nExample:\n  $ keelson audit export --organization org_01k… > audit.ndjson\n")
    .action(async ({ organization, cursor }: { organization?: string; cursor?: string }) => {
      const query = { organization_id: organization, cursor };
      for await (const line of exportAuditEvents(cli.admin(), query, cli.host.signal)) cli.print(line);
    });
}
