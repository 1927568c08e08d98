import { Command, Option } from "commander";
import { createCli, type Cli, type Host } from "./cli.ts";
import { addAgent } from "./commands/agent.ts";
import { addDeploy } from "./commands/deploy.ts";
import { addDeploymentEvents } from "./commands/deployment/events.ts";
import { addDeploymentGet } from "./commands/deployment/get.ts";
import { addDeploymentList } from "./commands/deployment/list.ts";
import { addDeploymentPromote } from "./commands/deployment/promote.ts";
import { addDev } from "./commands/dev.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addRunCancel } from "./commands/run/cancel.ts";
import { addRunEvents } from "./commands/run/events.ts";
import { addRunGet } from "./commands/run/get.ts";
import { addRunList } from "./commands/run/list.ts";
import { addRunLogs } from "./commands/run/logs.ts";
import { addRunWait } from "./commands/run/wait.ts";
import { addServe } from "./commands/serve.ts";
import { addTaskList } from "./commands/task/list.ts";
import { addTaskStart } from "./commands/task/start.ts";
import { addUp } from "./commands/up.ts";
import { EXIT, exitCodeOf, interruption } from "./exit-codes.ts";
import { reportError } from "./report-error.ts";
import { CLI_VERSION } from "./version.ts";

/** The commands by what they are about; a verb is a file. */
const NOUNS = [
  { name: "task", description: "Tasks of the current deployment", verbs: [addTaskList, addTaskStart] },
  {
    name: "run",
    description: "Runs of tasks",
    verbs: [addRunList, addRunGet, addRunLogs, addRunEvents, addRunWait, addRunCancel],
  },
  {
    name: "deployment",
    description: "Versions of an environment's code",
    verbs: [addDeploymentList, addDeploymentGet, addDeploymentEvents, addDeploymentPromote],
  },
] as const;

async function addCompletion(program: Command, isAsked: boolean): Promise<void> {
  if (isAsked) {
    const { default: tab } = await import("@bomb.sh/tab/commander");
    tab(program, { completionCommandName: "completion" });
    return;
  }
  // Stands in the help only: the package behind it is loaded when it is asked for.
  program
    .command("completion")
    .argument("<shell>", "bash, zsh, fish or powershell")
    .description("Print the script that completes commands in a shell")
    .addHelpText("after", "\nExample:\n  $ source <(keelson completion bash)\n");
}

async function createProgram(host: Host, argv: readonly string[]): Promise<{ program: Command; cli: Cli }> {
  const program = new Command("keelson")
    .description("Durable tasks on your own machines.")
    .version(CLI_VERSION, "-V, --version")
    .addOption(new Option("--url <url>", "the server (default: KEELSON_URL, then the project's .keelson)"))
    .addOption(
      new Option("--api-key <key>", "an API key (default: KEELSON_API_KEY, then the project's .keelson)"),
    )
    .option("--json", "write data as JSON")
    .option("-q, --quiet", "write nothing but data and errors")
    .helpCommand(false)
    .showHelpAfterError("(add --help for what can be given)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void host.stdout.write(text),
      writeErr: (text) => void host.stderr.write(text),
      getOutHasColors: () => host.stdout.isTTY && !host.env["NO_COLOR"],
      getErrHasColors: () => host.stderr.isTTY && !host.env["NO_COLOR"],
    });
  const cli = createCli(program, host);
  for (const add of [addUp, addDev, addDeploy]) add(program, cli);
  for (const { name, description, verbs } of NOUNS) {
    const noun = program.command(name).description(description);
    for (const add of verbs) add(noun, cli);
  }
  for (const add of [addServe, addAgent, addMigrate]) add(program, cli);
  await addCompletion(program, argv[0] === "completion" || argv[0] === "complete");
  return { program, cli };
}

/** Runs one command line and gives its exit code. Never rejects. */
export async function runCommandLine(argv: readonly string[], host: Host): Promise<number> {
  const { program, cli } = await createProgram(host, argv);
  try {
    await program.parseAsync(argv, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    const failure = host.signal.aborted && error === host.signal.reason ? interruption() : error;
    reportError(host, failure, cli.isJson());
    return exitCodeOf(failure);
  }
}
