import type { Message } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { checkIsId } from "../../check-is-id.ts";
import { addSessionArgument, openSession, type SessionFlags } from "../../session-argument.ts";

export function addSessionInterrupt(parent: Command, cli: Cli): void {
  addSessionArgument(
    parent.command("interrupt").description("Stop what a session's run writes; the session stays open"),
  )
    .argument("[message]", "its id; by default every message that is being written")
    .addHelpText("after", "\nExample:\n  $ keelson session interrupt sess_01k…\n")
    .action(async (id: string, message: string | undefined, flags: SessionFlags) => {
      const { signal } = cli.host;
      if (message !== undefined) checkIsId("message", "msg", message);
      const session = await openSession(cli, id, flags);
      const ids = message === undefined ? [] : [message];
      if (message === undefined)
        for await (const open of session.messages({ status: "open" }, { signal }) as AsyncIterable<Message>)
          ids.push(open.id);
      const messages = await Promise.all(ids.map((one) => session.interrupt(one, { signal })));
      if (cli.isJson()) return cli.printJson({ messages });
      if (messages.length === 0) return cli.print("Nothing is being written.");
      for (const { messageId, status } of messages)
        cli.print(status === "ended" ? `${messageId} has ended.` : `${messageId} is being stopped.`);
    });
}
