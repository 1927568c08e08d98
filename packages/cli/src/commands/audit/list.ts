import type { AuditEvent } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable } from "../../table.ts";

type Options = { organization?: string; action?: string; actor?: string; resource?: string; limit?: number };

export function addAuditList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List what was done, newest first")
    .option("--organization <id>", "of this organization (default: what belongs to none)")
    .option("--action <action>", "only this, such as api_keys.revoke")
    .option("--actor <id>", "only by this user or key")
    .option("--resource <id>", "only to this")
    .option("--limit <n>", "how many (default: 50)", parseIntegerOption(1, 200))
    .addHelpText("after", "\nExample:\n  $ keelson audit list --organization org_01k… --actor user_01k…\n")
    .action(async ({ organization, action, actor, resource, limit }: Options) => {
      const page = await cli
        .admin()
        .client.request<{ audit_events: AuditEvent[]; next_cursor: string | null }>({
          method: "GET",
          path: "/admin/api/v1/audit-events",
          query: { organization_id: organization, action, actor_id: actor, resource_id: resource, limit },
          signal: cli.host.signal,
        });
      if (cli.isJson()) cli.printJson(page);
      else if (page.audit_events.length === 0) cli.notice("No events.");
      else {
        const rows = page.audit_events.map((event) => [
          event.at,
          event.action,
          event.actor.id ?? event.actor.kind,
          event.resource.id ?? event.resource.kind,
          event.address ?? "",
        ]);
        printTable(cli, ["AT", "ACTION", "ACTOR", "RESOURCE", "FROM"], rows);
      }
    });
}
