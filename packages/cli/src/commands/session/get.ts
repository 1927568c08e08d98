import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";
import { printFields } from "../../table.ts";

export function addSessionGet(parent: Command, cli: Cli): void {
  addSessionArgument(parent.command("get").description("Show a session"))
    .addHelpText("after", "\nExample:\n  $ keelson session get --external-id ticket-17\n")
    .action(async (id: string, flags: SessionFlags) => {
      const session = await (await openSession(cli, id, flags)).get({ signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson(session);
        return;
      }
      printFields(cli, {
        session: session.id,
        "external id": session.externalId,
        task: session.task,
        actor: session.actor,
        status: session.status,
        why: session.statusReason?.message ?? session.closeReason,
        activity: session.status === "open" ? session.activity : null,
        "last failure":
          session.lastFailure === null
            ? null
            : `${session.lastFailure.code}: ${session.lastFailure.message} (${session.lastFailure.runId})`,
        run: `${session.currentRunId} (turn ${session.turn})`,
        workspace: session.workspaceId,
        tags: session.tags.join(", "),
        metadata: Object.keys(session.metadata).length === 0 ? null : session.metadata,
        created: session.createdAt,
        expires: session.expiresAt,
        closed: session.closedAt,
      });
    });
}
