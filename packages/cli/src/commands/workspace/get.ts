import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { printFields } from "../../table.ts";
import { addWorkspaceArgument, openWorkspace, type WorkspaceFlags } from "../../workspace-argument.ts";

export function addWorkspaceGet(parent: Command, cli: Cli): void {
  addWorkspaceArgument(parent.command("get").description("Show a workspace"))
    .addHelpText("after", "\nExample:\n  $ keelson workspace get --external-id ticket-17\n")
    .action(async (id: string, flags: WorkspaceFlags) => {
      const { signal } = cli.host;
      const workspace = await (await openWorkspace(cli, id, flags)).get({ signal });
      if (cli.isJson()) {
        cli.printJson(workspace);
        return;
      }
      const { materialization } = workspace;
      printFields(cli, {
        workspace: workspace.id,
        "external id": workspace.externalId,
        sandbox: workspace.sandbox,
        status: workspace.status,
        machine:
          materialization === null
            ? null
            : [materialization.status, materialization.isolation, materialization.workerId]
                .filter((part) => part !== null)
                .join(", "),
        why: materialization?.error?.message ?? workspace.statusReason?.message,
        version: workspace.currentVersionId,
        tags: workspace.tags.join(", "),
        metadata: Object.keys(workspace.metadata).length === 0 ? null : workspace.metadata,
        created: workspace.createdAt,
        "last used": workspace.lastActivityAt,
      });
    });
}
