import { join } from "node:path";
import type { Deployment } from "@keelson/sdk";
import type { RunningServer } from "@keelson/server";
import { paint, type Cli } from "../cli.ts";
import { findProjectFolder } from "../project/project-folder.ts";
import { examplesFile } from "./examples-project.ts";
import { keepLoginLink, loginLinkOf } from "./login-link.ts";
import type { Examples } from "./start-examples.ts";

/** The example that the printed command starts. */
const SHOWN_TASK = "repository-report";
/** The example with a page of its own, which `npm run chat` serves. */
const SHOWN_ACTOR = "approval-chat";

export type Described = {
  server: RunningServer;
  /** Null when there are none here. */
  examples: Examples | null;
  /** Without examples: what is current in the first project; null when nothing is. */
  own: Deployment | null;
  dataDir: string;
  /** The operator gave the credentials, so they are in no file of ours. */
  areGiven: boolean;
};

/**
 * Says where the server is and how to begin. Credentials are shown to a person at a terminal only: other output is kept,
 * in a journal or a log, and read by others. There it names the files that have them.
 */
export async function describeServer(
  cli: Cli,
  { server, examples, own, dataDir, areGiven }: Described,
): Promise<void> {
  const { stdout } = cli.host;
  const { publicUrl: url } = server;
  const isTerminal = stdout.isTTY;
  const link = loginLinkOf(server);
  const linkFile = isTerminal ? null : await keepLoginLink(dataDir, link);
  const credentialsFile = areGiven ? null : join(dataDir, "credentials.json");
  if (cli.isJson()) {
    cli.printJson({
      url,
      login_url: isTerminal ? link : null,
      login_link_file: linkFile,
      credentials_file: credentialsFile,
      deployment_version: (examples?.deployment ?? own)?.version ?? null,
      ...(examples !== null && { examples_file: examplesFile(dataDir) }),
    });
    return;
  }
  cli.print(`\n${paint(stdout, "bold", "Keelson is running")} at ${url}\n`);
  cli.print(linkFile === null ? `Sign in:     ${link}` : `Sign in:     open the link in ${linkFile}`);
  if (!isTerminal) cli.print(`Keys:        ${credentialsFile ?? "those of KEELSON_CREDENTIALS"}`);
  if (examples !== null) describeExamples(cli, url, examples, examplesFile(dataDir));
  else describeOwn(cli, server, own);
  if (process.getuid?.() === 0)
    cli.print(
      "Tasks run as root, as you do. A worker of its own (`keelson agent`) gives each environment a user.",
    );
  cli.print("\nCtrl-C stops everything.");
}

function describeOwn(cli: Cli, { publicUrl: url, credentials }: RunningServer, own: Deployment | null): void {
  if (own === null) return describeFirstSteps(cli);
  const task = own.tasks[0]?.id;
  const key = cli.host.stdout.isTTY ? credentials.api_key : null;
  if (task !== undefined) cli.print(startCommand("a run", url, task, key));
}

function describeFirstSteps(cli: Cli): void {
  const steps = ["npx keelson dev     # deploys the project's tasks at every change"];
  if (findProjectFolder(cli.host.cwd) === null)
    steps.unshift("npx keelson init    # makes this folder a project");
  cli.print(`No tasks are deployed yet. In a second terminal:\n  ${steps.join("\n  ")}`);
}

/** They have a project of their own, so that a key for it is shown with the command that needs it. */
function describeExamples(cli: Cli, url: string, { deployment, access }: Examples, file: string): void {
  const isTerminal = cli.host.stdout.isTTY;
  const tasks = deployment.tasks.map(({ id }) => id);
  const task = tasks.includes(SHOWN_TASK) ? SHOWN_TASK : tasks[0];
  cli.print(`Examples:    in the project Examples${isTerminal ? "" : `; their key is in ${file}`}`);
  if (task !== undefined)
    cli.print(startCommand("an example", url, task, isTerminal ? access.api_key : null));
  if (deployment.actors.some(({ id }) => id === SHOWN_ACTOR)) cli.print("Talk to an actor:\n  npm run chat");
}

/** Without a key to show, the command takes it from the shell: `api_key` of the file. */
const startCommand = (what: string, url: string, task: string, key: string | null): string =>
  `Start ${what}:\n  curl -sS ${url}/v1/tasks/${task}/start \\\n` +
  `    -H ${key === null ? '"Authorization: Bearer $KEELSON_API_KEY"' : `'Authorization: Bearer ${key}'`} \\\n` +
  `    -H 'Content-Type: application/json' -d '{"payload": {}}'`;
