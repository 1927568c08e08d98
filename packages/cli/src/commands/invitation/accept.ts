import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { usageError } from "../../exit-codes.ts";
import { findLogin, keepLogin } from "../../user-credentials.ts";

/** The token of an invitation's link, or the token itself. */
const tokenOf = (text: string): string => /[#&]token=([^&\s]+)/.exec(text)?.[1] ?? text;

/** The server that the link leads to, without its page. */
const serverOf = (text: string): string | null =>
  URL.canParse(text) ? text.slice(0, text.indexOf("/invitation")) : null;

export function addInvitationAccept(parent: Command, cli: Cli): void {
  parent
    .command("accept")
    .description("Accept an invitation and sign in")
    .argument("<link>", "the link of the mail, or its token")
    .addHelpText("after", "\nExample:\n  $ keelson invitation accept 'https://…/invitation#token=…'\n")
    .action(async (link: string) => {
      const { env, signal } = cli.host;
      const url = serverOf(link) ?? cli.givenUrl() ?? findLogin(env, null)?.url;
      if (url === undefined) throw usageError("Give the whole link, or --url with the token");
      const login = findLogin(env, url);
      const accepted = await cli
        .clientOf(url, login?.token ?? null)
        .invitations.accept(tokenOf(link), { signal });
      const { organization, user, token } = accepted;
      if (token !== null) keepLogin(env, url, { token, email: user.email });
      if (cli.isJson()) cli.printJson({ url, organization, user });
      else cli.print(`${user.email} is ${organization.role} of ${organization.name}`);
    });
}
