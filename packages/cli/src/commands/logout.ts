import { ApiError } from "@keelson/sdk";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { findLogin, forgetLogin } from "../user-credentials.ts";

export function addLogout(parent: Command, cli: Cli): void {
  parent
    .command("logout")
    .description("Sign out of a server")
    .argument("[url]", "the server (default: --url, KEELSON_URL, the last one)")
    .addHelpText("after", "\nExample:\n  $ keelson logout\n")
    .action(async (argument: string | undefined) => {
      const { env, signal } = cli.host;
      const login = findLogin(env, argument ?? cli.givenUrl());
      if (login === null) {
        cli.notice("Nobody is signed in.");
        return;
      }
      try {
        await cli.clientOf(login.url, login.token).account.signOut({ signal });
      } catch (error) {
        // A session that has ended needs no end. One that could not be ended is kept: it is still good.
        if (!(error instanceof ApiError) || error.status !== 401) throw error;
      }
      forgetLogin(env, login.url);
      if (cli.isJson()) cli.printJson({ url: login.url });
      else cli.print(`Signed out of ${login.url}`);
    });
}
