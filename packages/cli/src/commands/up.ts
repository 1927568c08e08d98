import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunningServer } from "@keelson/server";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Environment } from "../config.ts";
import { endBundler } from "../bundle/end-bundler.ts";
import { configuredProject } from "../configured-project.ts";
import { interruption } from "../exit-codes.ts";
import { describeServer } from "../up/describe-server.ts";
import { describeStartFailure } from "../up/describe-start-failure.ts";
import { endInOrder, type Started } from "../up/end-in-order.ts";
import { keepAgent } from "../up/keep-agent.ts";
import { startDatabase } from "../up/start-database.ts";
import { findOwnDeployment } from "../up/own-deployment.ts";
import { bundleExamples, startExamples } from "../up/start-examples.ts";
import { projectFolder } from "../project/project-folder.ts";
import { untilAborted } from "../until-aborted.ts";
import { BESIDE_SERVER } from "./agent.ts";

const MAIN = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url),
);

/** The worker's settings. No key is among them: runs call the server by credentials of their own. */
function agentEnvironment(
  env: Environment,
  dataDir: string,
  { url, credentials }: RunningServer,
): Environment {
  return {
    ...env,
    KEELSON_DATA_DIR: dataDir,
    KEELSON_URL: url,
    KEELSON_ENROLLMENT_TOKEN: credentials.enrollment_token,
    KEELSON_LOG_LEVEL: env["KEELSON_LOG_LEVEL"] || "warn",
  };
}

/** Data is kept in the project's folder, whichever folder below it the command runs in. */
const withDataDir = (env: Environment, project: string): Environment =>
  env["KEELSON_DATA_DIR"] ? env : { ...env, KEELSON_DATA_DIR: join(project, ".keelson") };

async function runAll(cli: Cli, started: Started[], ending: AbortController): Promise<void> {
  const cwd = projectFolder(cli.host.cwd, undefined);
  const env = withDataDir(cli.host.env, cwd);
  const { signal } = ending;
  const begun = performance.now();
  const { loadConfig, loadServer } = await import("@keelson/server");
  const config = loadConfig(env);
  const isFirst = !existsSync(join(config.dataDir, "credentials.json"));
  // The first start calls its project as the configuration does, so that whoever signs in deploys to it at once.
  const firstProject = isFirst ? await configuredProject(cwd) : null;
  const loading = loadServer();
  const bundling = bundleExamples(cwd);
  // Awaited below; a failure meanwhile is no unhandled one.
  bundling.catch(() => undefined);

  // Who tells PostgreSQL alone to stop means all of this.
  const onStopRequest = (): void => ending.abort(interruption("SIGTERM"));
  const database = await startDatabase(config.dataDir, config.databaseUrl, cli.notice, onStopRequest);
  if (config.databaseUrl === null) started.push({ name: "PostgreSQL", stop: () => database.stop() });
  signal.throwIfAborted();
  cli.notice("Starting the server");
  const { startServer } = await loading;
  const server = await startServer(
    {
      ...config,
      databaseUrl: database.url,
      databaseDirectUrl: config.databaseUrl === null ? null : config.databaseDirectUrl,
      // Each request as a line would bury what is written for the person who started this.
      logLevel: env["KEELSON_LOG_LEVEL"] ? config.logLevel : "warn",
    },
    { signal, ...(firstProject !== null && { firstProject }) },
  );
  started.push({ name: "the server", stop: () => server.close() });
  signal.throwIfAborted();
  const agentEnv = agentEnvironment(env, config.dataDir, server);
  const agent = keepAgent(
    [process.execPath, ...process.execArgv, MAIN, "agent", BESIDE_SERVER],
    agentEnv,
    cli.notice,
  );
  started.push({ name: "the agent", stop: () => agent.stop() });

  const { dataDir, credentials: given } = config;
  const { notice } = cli;
  const examples = await startExamples(bundling, { server, dataDir, directory: cwd, signal, notice });
  cli.notice(`Ready in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  // Of the configuration, or of the examples.
  if (isFirst || examples !== null) await endBundler();
  const own = examples === null ? await findOwnDeployment(server, signal) : null;
  await describeServer(cli, { server, examples, own, dataDir, areGiven: given !== null });
  await untilAborted(signal);
}

export function addUp(parent: Command, cli: Cli): void {
  parent
    .command("up")
    .description("Run everything on this machine: PostgreSQL, the server, the console, one worker")
    .addHelpText(
      "after",
      `
Data is kept in .keelson of the project, else of the current folder (KEELSON_DATA_DIR). DATABASE_URL replaces the built-in PostgreSQL, PORT and HOST say where
to listen. Ctrl-C, SIGTERM, SIGHUP and SIGQUIT stop all in order: the worker commits and hands back what it has, then the
server ends, then PostgreSQL. A second Ctrl-C on a terminal, a second or more after the first, does not wait.

Example:
  $ PORT=9000 keelson up
`,
    )
    .action(async () => {
      const { host, notice } = cli;
      host.endInOrder();
      const started: Started[] = [];
      const ending = new AbortController();
      host.signal.addEventListener("abort", () => ending.abort(host.signal.reason), { once: true });
      try {
        await runAll(cli, started, ending);
      } catch (error) {
        if (!ending.signal.aborted || error !== ending.signal.reason) throw describeStartFailure(error);
      } finally {
        await endInOrder(started, notice);
      }
    });
}
