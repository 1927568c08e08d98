import type { Me } from "@keelson/contract";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { printFields } from "../table.ts";

export function addWhoami(parent: Command, cli: Cli): void {
  parent
    .command("whoami")
    .description("Show who is signed in, and where")
    .addHelpText("after", "\nExample:\n  $ keelson whoami\n")
    .action(async () => {
      const { client, credentials } = cli.user();
      const me = await client.request<Me>({ method: "GET", path: "/api/me", signal: cli.host.signal });
      if (cli.isJson()) {
        cli.printJson({ url: credentials.url, source: credentials.source, ...me });
        return;
      }
      printFields(cli, {
        user: me.user?.email,
        name: me.user?.name,
        server: credentials.url,
        organizations: me.organizations.map(({ slug, role }) => `${slug} (${role})`).join(", "),
        credentials: { environment: "KEELSON_USER_TOKEN", project: ".keelson", login: "keelson login" }[
          credentials.source
        ],
      });
    });
}
