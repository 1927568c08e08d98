import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { describeEmpty } from "../../describe-empty.ts";
import { parseIntegerOption } from "../../parse-arguments.ts";
import { printTable } from "../../table.ts";

type Options = { organization?: string; action?: string; actor?: string; resource?: string; limit?: number };

export function addAuditList(parent: Command, cli: Cli): void {
  parent
    .command("list")
    .description("List audit events, newest first")
    .option("--organization <id>", "of this organization (default: what belongs to none)")
    .option("--action <action>", "only this, such as api_keys.revoke")
    .option("--actor <id>", "only by this user or key")
    .option("--resource <id>", "only to this")
    .option("--limit <n>", "how many (default: 50)", parseIntegerOption(1, 200))
    .addHelpText("after", "\nExample:\n  $ keelson audit list --organization org_01k… --actor user_01k…\n")
    .action(async ({ organization, action, actor, resource, limit }: Options) => {
      const page = await cli
        .admin()
        .auditEvents.list(
          {
            organizationId: organization,
            action,
            actorId: actor,
            resourceId: resource,
            ...(limit !== undefined && { limit }),
          },
          { signal: cli.host.signal },
        )
        .page();
      if (cli.isJson()) cli.printJson({ audit_events: page.items, next_cursor: page.nextCursor });
      else if (page.items.length === 0)
        cli.notice(
          describeEmpty(
            "audit events",
            { organization, action, actor, resource },
            "Show those of an organization: `keelson audit list --organization <id>`.",
          ),
        );
      else {
        const rows = page.items.map((event) => [
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
