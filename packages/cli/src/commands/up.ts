import { fileURLToPath } from "node:url";
import { Client, KeelsonError, type Deployment } from "@keelson/sdk";
import type { RunningServer } from "@keelson/server";
import type { Command } from "commander";
import { BundleError } from "../bundle/bundle-error.ts";
import { paint, type Cli } from "../cli.ts";
import type { Environment } from "../config.ts";
import { ExitError } from "../exit-codes.ts";
import { deployExamples } from "../up/deploy-examples.ts";
import { describeStartFailure } from "../up/describe-start-failure.ts";
import { findExampleFiles } from "../up/find-examples.ts";
import { keepAgent } from "../up/keep-agent.ts";
import { startDatabase } from "../up/start-database.ts";
import { untilAborted } from "../until-aborted.ts";
import { CLI_VERSION } from "../version.ts";

/** The example that the printed command starts. */
const SHOWN_TASK = "repository-report";
/** The example with a page of its own, which `npm run chat` serves. */
const SHOWN_ACTOR = "approval-chat";

/** What has been started, to be stopped in the other order. */
type Stop = { name: string; stop: () => Promise<void> };

const MAIN = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url),
);

function describe(
  cli: Cli,
  { publicUrl: url, credentials }: RunningServer,
  deployment: Deployment | null,
): void {
  const login = `${url}/#token=${credentials.user_token}&project_id=${credentials.project_id}&environment_id=${credentials.environment_id}`;
  if (cli.isJson()) {
    cli.printJson({ url, login_url: login, deployment_version: deployment?.version ?? null });
    return;
  }
  const { stdout } = cli.host;
  cli.print(`\n${paint(stdout, "bold", "Keelson is running")} at ${url}\n`);
  cli.print(`Sign in:     ${login}`);
  const tasks = deployment?.tasks.map(({ id }) => id) ?? [];
  const task = tasks.includes(SHOWN_TASK) ? SHOWN_TASK : tasks[0];
  if (task !== undefined) {
    cli.print("Start a run:");
    cli.print(
      `  curl -sS ${url}/v1/tasks/${task}/start \\\n    -H 'Authorization: Bearer ${credentials.api_key}' \\\n    -H 'Content-Type: application/json' -d '{"payload": {}}'`,
    );
  }
  if (deployment?.actors.some(({ id }) => id === SHOWN_ACTOR)) cli.print("Talk to an actor:\n  npm run chat");
  cli.print("\nCtrl-C stops everything.");
}

/** The worker's settings. Its tasks may call this server: the client finds the address and the key in their environment. */
function agentEnvironment(
  env: Environment,
  dataDir: string,
  { url, credentials }: RunningServer,
): Environment {
  const forTasks = ["KEELSON_URL", "KEELSON_API_KEY", env["KEELSON_TASK_ENV"]];
  return {
    ...env,
    KEELSON_DATA_DIR: dataDir,
    KEELSON_URL: url,
    KEELSON_API_KEY: credentials.api_key,
    KEELSON_ENROLLMENT_TOKEN: credentials.enrollment_token,
    KEELSON_TASK_ENV: forTasks.filter(Boolean).join(","),
    KEELSON_LOG_LEVEL: env["KEELSON_LOG_LEVEL"] || "warn",
  };
}

/** The examples' code, made while the rest starts; null when there are none, or what is wrong with them. */
async function bundleExamples(directory: string) {
  const files = await findExampleFiles(directory);
  if (files.length === 0) return null;
  const { bundleCode } = await import("../bundle/build-bundle.ts");
  return bundleCode({ directory, files });
}

async function runAll(cli: Cli, started: Stop[]): Promise<void> {
  const { env, cwd, signal } = cli.host;
  const begun = performance.now();
  const { loadConfig, startServer } = await import("@keelson/server");
  const config = loadConfig(env);
  const examples = bundleExamples(cwd);
  // Awaited below; a failure meanwhile is no unhandled one.
  examples.catch(() => undefined);

  const database = await startDatabase(config.dataDir, config.databaseUrl, cli.notice);
  started.push({ name: "PostgreSQL", stop: () => database.stop() });
  signal.throwIfAborted();
  cli.notice("Starting the server");
  const server = await startServer({
    ...config,
    databaseUrl: database.url,
    databaseDirectUrl: config.databaseUrl === null ? null : config.databaseDirectUrl,
    // Each request as a line would bury what is written for the person who started this.
    logLevel: env["KEELSON_LOG_LEVEL"] ? config.logLevel : "warn",
  });
  started.push({ name: "server", stop: () => server.close() });
  signal.throwIfAborted();
  const agentEnv = agentEnvironment(env, config.dataDir, server);
  const agent = keepAgent([process.execPath, ...process.execArgv, MAIN, "agent"], agentEnv, cli.notice);
  started.push({ name: "agent", stop: () => agent.stop() });

  let deployment: Deployment | null = null;
  try {
    const bundled = await examples;
    const client = new Client({
      url: server.url,
      apiKey: server.credentials.api_key,
      headers: { "service-cli-version": CLI_VERSION },
    });
    if (bundled !== null) deployment = await deployExamples(client, bundled, cwd, signal, cli.notice);
  } catch (error) {
    // The rest is of use without the examples.
    const isExpected =
      error instanceof BundleError || error instanceof ExitError || error instanceof KeelsonError;
    if (!isExpected || signal.aborted) throw error;
    cli.notice(`The examples are not deployed. ${error.message}`);
  }
  cli.notice(`Ready in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  describe(cli, server, deployment);
  await untilAborted(signal);
}

export function addUp(parent: Command, cli: Cli): void {
  parent
    .command("up")
    .description("Run everything on this machine: PostgreSQL, the server, one worker, the examples")
    .addHelpText(
      "after",
      `
Data is kept in .keelson (KEELSON_DATA_DIR). DATABASE_URL replaces the built-in PostgreSQL, PORT and HOST say where
to listen. Ctrl-C stops all in order; a second one does not wait.

Example:
  $ PORT=9000 keelson up
`,
    )
    .action(async () => {
      const started: Stop[] = [];
      try {
        await runAll(cli, started);
      } catch (error) {
        if (!cli.host.signal.aborted || error !== cli.host.signal.reason) throw describeStartFailure(error);
      } finally {
        for (const { name, stop } of started.reverse()) {
          cli.notice(`Stopping the ${name}`.replace("the PostgreSQL", "PostgreSQL"));
          await stop().catch((error: unknown) =>
            cli.notice(
              `The ${name} did not stop cleanly: ${error instanceof Error ? error.message : String(error)}`,
            ),
          );
        }
      }
    });
}
