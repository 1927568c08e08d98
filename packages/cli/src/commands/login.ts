import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ConnectionError,
  ApiError,
  UnavailableError,
  type Client,
  type DeviceToken,
  type StartedDevice,
} from "@keelson/sdk";
import type { Command } from "commander";
import { paint, type Cli } from "../cli.ts";
import { checkServerUrl } from "../chosen-place.ts";
import { findCredentialsFile, sameServer } from "../config.ts";
import { EXIT, ExitError, usageError } from "../exit-codes.ts";
import { openPage } from "../open-page.ts";
import { findLogin, keepLogin, userFilePath } from "../user-credentials.ts";

/** RFC 8628, section 3.5. */
const SLOW_DOWN_SECONDS = 5;

/** Asks until somebody has approved the device. */
async function untilApproved(
  client: Client,
  { deviceCode, interval, expiresIn }: StartedDevice,
  signal: AbortSignal,
): Promise<DeviceToken> {
  let pauseSeconds = interval;
  for (let waited = 0; waited < expiresIn; waited += pauseSeconds) {
    await sleep(pauseSeconds * 1_000, undefined, { signal });
    try {
      return await client.devices.token(deviceCode, { signal });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "slow_down") pauseSeconds += SLOW_DOWN_SECONDS;
      else if (error.code === "access_denied") throw new ExitError(EXIT.notAllowed, "The sign-in was denied");
      else if (error.code === "expired_token") break;
      // The server may be restarting; the code is good for a while.
      else if (
        error.code !== "authorization_pending" &&
        !(error instanceof ConnectionError) &&
        !(error instanceof UnavailableError)
      )
        throw error;
    }
  }
  throw new ExitError(EXIT.timeout, "Nobody approved the sign-in in time; run the command again");
}

function chooseServer(cli: Cli, argument: string | undefined): string {
  const { env, cwd } = cli.host;
  const url =
    argument ?? cli.givenUrl() ?? findCredentialsFile(env, cwd)?.url ?? findLogin(env, null)?.url ?? null;
  if (url === null) throw usageError("Say which server: keelson login <url>");
  checkServerUrl(url);
  return url.replace(/\/+$/, "");
}

export function addLogin(parent: Command, cli: Cli): void {
  parent
    .command("login")
    .description("Sign in to a server, in a browser")
    .argument("[url]", "the server (default: --url, KEELSON_URL, the project's, the last one)")
    .option("--no-browser", "do not open the page")
    .addHelpText("after", "\nExample:\n  $ keelson login https://keelson.example.com\n")
    .action(async (argument: string | undefined, { browser }: { browser: boolean }) => {
      const { env, cwd, stderr, signal } = cli.host;
      const url = chooseServer(cli, argument);
      const client = cli.clientOf(url, null);
      const clientId = `keelson on ${hostname()}`.replaceAll(/[^ -~]/g, "?").slice(0, 128);
      const started = await client.devices.start({ clientId }, { signal });
      // Even with --quiet: without it there is no sign-in.
      stderr.write(
        `Open ${started.verificationUriComplete}\nand check that it shows the code ${paint(stderr, "bold", started.userCode)}\n`,
      );
      if (browser && stderr.isTTY && !env["CI"] && !cli.isJson()) openPage(started.verificationUriComplete);
      const { accessToken, user } = await untilApproved(client, started, signal);
      keepLogin(env, url, { token: accessToken, email: user.email });
      if (cli.isJson()) cli.printJson({ url, user });
      else cli.print(`Signed in to ${url} as ${user.email}`);
      const project = findCredentialsFile(env, cwd);
      if (project !== null && sameServer(project.url, url))
        cli.notice("In this folder the project's own credentials (.keelson) are used instead.");
      cli.notice(`The session is kept in ${userFilePath(env)}`);
    });
}
