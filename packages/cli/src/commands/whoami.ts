import type { Client } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli, UserClient } from "../cli.ts";
import { ExitError } from "../exit-codes.ts";
import { findEnvironment, findProject } from "../find-place.ts";
import { printFields } from "../table.ts";

/** Where the person acts, as far as that is chosen; what is wrong with a choice is told. */
async function findWhere(cli: Cli, user: UserClient) {
  try {
    const project = await findProject(cli, user, {});
    return { project, environment: await findEnvironment(cli, user, { project: project.id }) };
  } catch (error) {
    if (!(error instanceof ExitError) || cli.place().isExplicit) throw error;
    return { project: null, environment: null };
  }
}

/** Of a key that is given: it is what commands of an environment use. */
async function showKey(cli: Cli, { client, url }: { client: Client; url: string }): Promise<void> {
  const me = await client.account.get({ signal: cli.host.signal });
  if (cli.isJson()) {
    cli.printJson({ url, source: "key", ...(cli.wire.of(me) as object) });
    return;
  }
  const { apiKey } = me;
  printFields(cli, {
    "api key": apiKey === null ? "a credential that is no API key" : `${apiKey.name} (${apiKey.id})`,
    server: url,
    project: apiKey?.projectId,
    environment: apiKey?.environmentId,
    permissions: apiKey?.permissions.join(", "),
    expires: apiKey?.expiresAt ?? undefined,
    credentials: "--api-key or KEELSON_API_KEY",
  });
}

export function addWhoami(parent: Command, cli: Cli): void {
  parent
    .command("whoami")
    .description("Show the server, and the signed-in person or the API key")
    .addHelpText("after", "\nExample:\n  $ keelson whoami\n")
    .action(async () => {
      const key = cli.ofGivenKey();
      if (key !== null) {
        await showKey(cli, key);
        return;
      }
      const user = cli.user();
      const { client, credentials } = user;
      const me = await client.account.get({ signal: cli.host.signal });
      const { project, environment } = await findWhere(cli, user);
      if (cli.isJson()) {
        cli.printJson({
          url: credentials.url,
          source: credentials.source,
          project,
          environment,
          ...(cli.wire.of(me) as object),
        });
        return;
      }
      printFields(cli, {
        user: me.user?.email,
        name: me.user?.name,
        server: credentials.url,
        organizations: me.organizations.map(({ slug, role }) => `${slug} (${role})`).join(", "),
        project: project?.slug,
        environment: environment?.slug ?? "none chosen; `keelson environment use <environment>` keeps one",
        credentials: { environment: "KEELSON_USER_TOKEN", project: ".keelson", login: "keelson login" }[
          credentials.source
        ],
      });
    });
}
