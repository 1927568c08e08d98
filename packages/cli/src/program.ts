import { Option, type Command } from "commander";
import { createCli, type Cli, type Host } from "./cli.ts";
import { addActorList } from "./commands/actor/list.ts";
import { addActorStart } from "./commands/actor/start.ts";
import { addAgent } from "./commands/agent.ts";
import { addAuditExport } from "./commands/audit/export.ts";
import { addAuditList } from "./commands/audit/list.ts";
import { addAuditVerify } from "./commands/audit/verify.ts";
import { addBackup } from "./commands/backup.ts";
import { addCredentials } from "./commands/credentials.ts";
import { addDeploy } from "./commands/deploy.ts";
import { addDeploymentEvents } from "./commands/deployment/events.ts";
import { addDeploymentGet } from "./commands/deployment/get.ts";
import { addDeploymentList } from "./commands/deployment/list.ts";
import { addDeploymentPromote } from "./commands/deployment/promote.ts";
import { addDev } from "./commands/dev.ts";
import { addEnvironmentCreate } from "./commands/environment/create.ts";
import { addEnvironmentList } from "./commands/environment/list.ts";
import { addEnvironmentUpdate } from "./commands/environment/update.ts";
import { addEnvironmentUse } from "./commands/environment/use.ts";
import { addHelp, addVersion } from "./commands/help.ts";
import { addInit } from "./commands/init.ts";
import { addInvitationAccept } from "./commands/invitation/accept.ts";
import { addInvitationCreate } from "./commands/invitation/create.ts";
import { addInvitationList } from "./commands/invitation/list.ts";
import { addInvitationRevoke } from "./commands/invitation/revoke.ts";
import { addKeyCreate } from "./commands/key/create.ts";
import { addKeyList } from "./commands/key/list.ts";
import { addKeyRevoke } from "./commands/key/revoke.ts";
import { addLogin } from "./commands/login.ts";
import { addLogout } from "./commands/logout.ts";
import { addMemberList } from "./commands/member/list.ts";
import { addMemberRemove } from "./commands/member/remove.ts";
import { addMemberUpdate } from "./commands/member/update.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addOpen } from "./commands/open.ts";
import { addProfileList } from "./commands/profile/list.ts";
import { addProfileRemove } from "./commands/profile/remove.ts";
import { addProfileSet } from "./commands/profile/set.ts";
import { addProjectCreate } from "./commands/project/create.ts";
import { addProjectList } from "./commands/project/list.ts";
import { addProjectUpdate } from "./commands/project/update.ts";
import { addRestore } from "./commands/restore.ts";
import { addRollback } from "./commands/rollback.ts";
import { addRunBulk } from "./commands/run/bulk.ts";
import { addRunCancel } from "./commands/run/cancel.ts";
import { addRunCalls } from "./commands/run/calls.ts";
import { addRunEvents } from "./commands/run/events.ts";
import { addRunGet } from "./commands/run/get.ts";
import { addErrorGet } from "./commands/error/get.ts";
import { addErrorList } from "./commands/error/list.ts";
import { addErrorMute } from "./commands/error/mute.ts";
import { addErrorOpen } from "./commands/error/open.ts";
import { addErrorResolve } from "./commands/error/resolve.ts";
import { addRunList } from "./commands/run/list.ts";
import { addRunLogs } from "./commands/run/logs.ts";
import { addRunMetrics } from "./commands/run/metrics.ts";
import { addRunReplay } from "./commands/run/replay.ts";
import { addRunUsage } from "./commands/run/usage.ts";
import { addRunWait } from "./commands/run/wait.ts";
import { addScheduleActivate } from "./commands/schedule/activate.ts";
import { addScheduleCreate } from "./commands/schedule/create.ts";
import { addScheduleDeactivate } from "./commands/schedule/deactivate.ts";
import { addScheduleDelete } from "./commands/schedule/delete.ts";
import { addScheduleGet } from "./commands/schedule/get.ts";
import { addScheduleList } from "./commands/schedule/list.ts";
import { addScheduleOccurrences } from "./commands/schedule/occurrences.ts";
import { addSecretDelete } from "./commands/secret/delete.ts";
import { addSecretList } from "./commands/secret/list.ts";
import { addSecretRevoke } from "./commands/secret/revoke.ts";
import { addSecretRewrap } from "./commands/secret/rewrap.ts";
import { addSecretRotate } from "./commands/secret/rotate.ts";
import { addSecretSet } from "./commands/secret/set.ts";
import { addRouter } from "./commands/router.ts";
import { addServe } from "./commands/serve.ts";
import { addSessionCancel } from "./commands/session/cancel.ts";
import { addSessionCat } from "./commands/session/cat.ts";
import { addSessionClose } from "./commands/session/close.ts";
import { addSessionFiles } from "./commands/session/files.ts";
import { addSessionGet } from "./commands/session/get.ts";
import { addSessionInterrupt } from "./commands/session/interrupt.ts";
import { addSessionList } from "./commands/session/list.ts";
import { addSessionPut } from "./commands/session/put.ts";
import { addSessionRead } from "./commands/session/read.ts";
import { addSessionSend } from "./commands/session/send.ts";
import { addSessionState } from "./commands/session/state.ts";
import { addSessionUsage } from "./commands/session/usage.ts";
import { addSessionWithdraw } from "./commands/session/withdraw.ts";
import { addSessionStart } from "./commands/session/start.ts";
import { addTaskList } from "./commands/task/list.ts";
import { addTaskStart } from "./commands/task/start.ts";
import { addTokenCancel } from "./commands/token/cancel.ts";
import { addTokenComplete } from "./commands/token/complete.ts";
import { addTokenCreate } from "./commands/token/create.ts";
import { addTokenGet } from "./commands/token/get.ts";
import { addTokenList } from "./commands/token/list.ts";
import { addUp } from "./commands/up.ts";
import { addWhoami } from "./commands/whoami.ts";
import { addWorkerDrain } from "./commands/worker/drain.ts";
import { addWorkerGet } from "./commands/worker/get.ts";
import { addWorkerList } from "./commands/worker/list.ts";
import { addWorkspaceCat } from "./commands/workspace/cat.ts";
import { addWorkspaceCreate } from "./commands/workspace/create.ts";
import { addWorkspaceDelete } from "./commands/workspace/delete.ts";
import { addWorkspaceDiff } from "./commands/workspace/diff.ts";
import { addWorkspaceDiscard } from "./commands/workspace/discard.ts";
import { addWorkspaceExec } from "./commands/workspace/exec.ts";
import { addWorkspaceFiles } from "./commands/workspace/files.ts";
import { addWorkspaceFork } from "./commands/workspace/fork.ts";
import { addWorkspaceGet } from "./commands/workspace/get.ts";
import { addWorkspaceList } from "./commands/workspace/list.ts";
import { addWorkspacePut } from "./commands/workspace/put.ts";
import { addWorkspaceRecover } from "./commands/workspace/recover.ts";
import { addWorkspaceRestore } from "./commands/workspace/restore.ts";
import { addWorkspaceShell } from "./commands/workspace/shell.ts";
import { addWorkspaceStop } from "./commands/workspace/stop.ts";
import { addWorkspaceVersions } from "./commands/workspace/versions.ts";
import { EXIT, exitCodeOf, interruption } from "./exit-codes.ts";
import { FittedCommand } from "./fitted-command.ts";
import { reportError } from "./report-error.ts";
import { CLI_VERSION } from "./version.ts";

/** The commands by what they are about; a verb is a file. */
const NOUNS = [
  { name: "task", description: "Tasks of the current deployment", verbs: [addTaskList, addTaskStart] },
  { name: "actor", description: "Actors of the current deployment", verbs: [addActorList, addActorStart] },
  {
    name: "session",
    description: "Conversations and their streams",
    verbs: [
      addSessionStart,
      addSessionList,
      addSessionGet,
      addSessionSend,
      addSessionWithdraw,
      addSessionRead,
      addSessionState,
      addSessionFiles,
      addSessionCat,
      addSessionPut,
      addSessionUsage,
      addSessionInterrupt,
      addSessionClose,
      addSessionCancel,
    ],
  },
  {
    name: "workspace",
    description: "Durable folders of files, and commands that run there",
    verbs: [
      addWorkspaceCreate,
      addWorkspaceList,
      addWorkspaceGet,
      addWorkspaceFiles,
      addWorkspaceCat,
      addWorkspacePut,
      addWorkspaceExec,
      addWorkspaceShell,
      addWorkspaceVersions,
      addWorkspaceDiff,
      addWorkspaceRestore,
      addWorkspaceFork,
      addWorkspaceStop,
      addWorkspaceRecover,
      addWorkspaceDiscard,
      addWorkspaceDelete,
    ],
  },
  {
    name: "token",
    description: "Completion tokens, for which runs wait",
    verbs: [addTokenCreate, addTokenList, addTokenGet, addTokenComplete, addTokenCancel],
  },
  {
    name: "run",
    description: "Runs of tasks and actors",
    verbs: [
      addRunList,
      addRunGet,
      addRunLogs,
      addRunEvents,
      addRunCalls,
      addRunWait,
      addRunCancel,
      addRunReplay,
      addRunBulk,
      addRunMetrics,
      addRunUsage,
    ],
  },
  {
    name: "error",
    description: "Error groups: runs that failed in the same way",
    verbs: [addErrorList, addErrorGet, addErrorResolve, addErrorMute, addErrorOpen],
  },
  {
    name: "deployment",
    description: "Versions of an environment's code",
    verbs: [addDeploymentList, addDeploymentGet, addDeploymentEvents, addDeploymentPromote],
  },
  {
    name: "schedule",
    description: "Schedules, which start runs at set times",
    verbs: [
      addScheduleCreate,
      addScheduleList,
      addScheduleGet,
      addScheduleActivate,
      addScheduleDeactivate,
      addScheduleDelete,
      addScheduleOccurrences,
    ],
  },
  {
    name: "secret",
    description: "Secrets, which only the tasks that declare them read",
    verbs: [addSecretSet, addSecretList, addSecretRotate, addSecretRevoke, addSecretDelete, addSecretRewrap],
  },
  {
    name: "project",
    description: "Projects of an organization",
    verbs: [addProjectList, addProjectCreate, addProjectUpdate],
  },
  {
    name: "environment",
    description: "Environments of a project",
    verbs: [addEnvironmentList, addEnvironmentUse, addEnvironmentCreate, addEnvironmentUpdate],
  },
  {
    name: "profile",
    description: "Saved servers with a project and an environment",
    verbs: [addProfileList, addProfileSet, addProfileRemove],
  },
  {
    name: "key",
    description: "API keys of an environment",
    verbs: [addKeyList, addKeyCreate, addKeyRevoke],
  },
  {
    name: "member",
    description: "Members of an organization",
    verbs: [addMemberList, addMemberUpdate, addMemberRemove],
  },
  {
    name: "invitation",
    description: "Invitations to an organization",
    verbs: [addInvitationList, addInvitationCreate, addInvitationAccept, addInvitationRevoke],
  },
  {
    name: "worker",
    description: "Workers of the installation, for administrators",
    verbs: [addWorkerList, addWorkerGet, addWorkerDrain],
  },
  {
    name: "audit",
    description: "Audit events, for administrators",
    verbs: [addAuditList, addAuditExport, addAuditVerify],
  },
] as const;

/** Besides the plural of each noun. */
const NOUN_ALIASES: Readonly<Record<string, readonly string[]>> = {
  environment: ["env", "envs"],
  workspace: ["ws"],
  deployment: ["deploys"],
};

const VERB_ALIASES: Readonly<Record<string, readonly string[]>> = {
  list: ["ls"],
  get: ["show"],
  delete: ["rm"],
  remove: ["rm"],
};

const aliasesOf = (noun: string): string[] => [`${noun}s`, ...(NOUN_ALIASES[noun] ?? [])];

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
    .description("Print the completion script of a shell")
    .addHelpText("after", "\nExample:\n  $ source <(keelson completion bash)\n");
}

/** The whole tree of commands; nothing has run yet. */
export async function createProgram(
  host: Host,
  argv: readonly string[],
): Promise<{ program: Command; cli: Cli }> {
  const program: Command = new FittedCommand("keelson")
    .description("Durable tasks on your own machines.")
    .version(CLI_VERSION, "-V, --version")
    .addOption(new Option("--url <url>", "the server (default: KEELSON_URL, then the project's .keelson)"))
    .addOption(
      new Option("--api-key <key>", "an API key (default: KEELSON_API_KEY, then the project's .keelson)"),
    )
    .option("--project <project>", "its id or slug (default: KEELSON_PROJECT, then the project's own)")
    .option(
      "--environment <environment>",
      "its id or slug (default: KEELSON_ENVIRONMENT, then the one in use)",
    )
    .option("--profile <name>", "a server and place of `profile set` (default: KEELSON_PROFILE)")
    .option("--json", "write data as JSON")
    .option("-q, --quiet", "write nothing but data and errors")
    .helpCommand(false)
    .showHelpAfterError("(add --help for what can be given)")
    .exitOverride()
    // A noun has verbs with many arguments: narrow meanings are wrapped, too.
    .configureHelp({ minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => void host.stdout.write(text),
      writeErr: (text) => void host.stderr.write(text),
      getOutHasColors: () => host.stdout.isTTY && !host.env["NO_COLOR"],
      getErrHasColors: () => host.stderr.isTTY && !host.env["NO_COLOR"],
    });
  const cli = createCli(program, host);
  for (const add of [addInit, addUp, addDev, addDeploy, addDeploymentPromote, addRollback, addOpen])
    add(program, cli);
  for (const { name, description, verbs } of NOUNS) {
    const noun = program.command(name).description(description).aliases(aliasesOf(name));
    for (const add of verbs) add(noun, cli);
    for (const verb of noun.commands) verb.aliases(VERB_ALIASES[verb.name()] ?? []);
  }
  for (const add of [
    ...[addLogin, addLogout, addWhoami, addServe, addAgent, addRouter, addMigrate],
    ...[addCredentials, addBackup, addRestore, addVersion],
  ])
    add(program, cli);
  addHelp(program);
  await addCompletion(program, argv[0] === "completion" || argv[0] === "complete");
  return { program, cli };
}

/** What a command takes the id or the name of, if a list of these exists: `run` of `run get <run>`. */
function nounOf(command: Command | null): string | null {
  const argument = command?.registeredArguments[0]?.name();
  const named = argument === "name" ? command?.parent?.name() : argument;
  return NOUNS.find(({ name }) => named === name || named === `${name}s`)?.name ?? null;
}

/** Runs one command line and gives its exit code. Never rejects. */
export async function runCommandLine(argv: readonly string[], host: Host): Promise<number> {
  const { program, cli } = await createProgram(host, argv);
  let ran: Command | null = null;
  program.hook("preAction", (_, command) => {
    ran = command;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    const failure = host.signal.aborted && error === host.signal.reason ? interruption() : error;
    reportError(host, failure, cli.isJson() ? cli.wire : null, nounOf(ran));
    return exitCodeOf(failure);
  }
}
