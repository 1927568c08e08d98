import { EXAMPLE_IDS } from "@keelson/contract";

const { err, run, task, actor, sess, msg, dep, tok, sched, sec, sbx, ws, wsv, exec, pty } = EXAMPLE_IDS;

const SESSION = `const session = client.sessions.open("${sess}");`;
const COMMAND = `const command = client.workspaces.execs.open("${ws}", "${exec}");`;
const TERMINAL = `const terminal = client.workspaces.ptys.open("${ws}", "${pty}");`;

/**
 * How the SDK does what an operation does, by the operation's id in `/v1`. Tests compile each one and run it against a server
 * that answers with the document's examples.
 */
const SAMPLES: Record<string, string> = {
  listTasks: "for await (const task of client.tasks.list()) console.log(task.declaredId);",
  getTask: `const task = await client.tasks.get("${task}");`,
  startTask: `const run = await client.tasks.start("send-report", { week: 47 }, { idempotencyKey: "report-2026-47" });`,
  startTaskBatch: `const results = await client.tasks.startBatch([
  { task: "send-report", payload: { week: 47 }, idempotencyKey: "report-2026-47" },
  { task: "send-report", payload: { week: 48 }, idempotencyKey: "report-2026-48" },
]);`,
  listActors: "for await (const actor of client.actors.list()) console.log(actor.declaredId);",
  getActor: `const actor = await client.actors.get("${actor}");`,
  startActor: `const { session, run } = await client.actors.start(
  "support-chat",
  { text: "Where is my parcel?" },
  { session: { externalId: "chat-4711" }, idempotencyKey: "chat-4711-start" },
);`,
  createSession: `const session = await client.sessions.create({
  actor: "support-chat",
  externalId: "chat-4711",
  input: { text: "Where is my parcel?" },
});`,
  listSessions: `for await (const session of client.sessions.list({ status: "open" })) console.log(session.id);`,
  startSessionAndWait: `const { session, run, timedOut } = await client.sessions.startAndWait({
  actor: "support-chat",
  externalId: "chat-4711",
  input: { text: "Where is my parcel?" },
  timeout: "30s",
});`,
  getRunUsage: `const { calls, costUsd } = await client.runs.usage("${run}");`,
  getSession: `const session = await client.sessions.get("${sess}");`,
  getSessionByExternalId: `const session = await client.sessions.getByExternalId("chat-4711");`,
  updateSession: `const session = await client.sessions.update("${sess}", { tags: ["support", "escalated"] });`,
  interruptSessionMessage: `const { status } = await client.sessions.interrupt("${sess}", "${msg}");`,
  getSessionState: `const { state, version } = await client.sessions.state("${sess}");`,
  getSessionUsage: `const { calls, costUsd } = await client.sessions.usage("${sess}");`,
  uploadSessionFile: `const picture = await readFile("receipt.png");
const file = await client.sessions.files.upload("${sess}", picture, { name: "receipt.png", mediaType: "image/png" });`,
  listSessionFiles: `for await (const file of client.sessions.files.list("${sess}")) console.log(file.name, file.sizeBytes);`,
  getSessionFile: `const file = await client.sessions.files.get("${sess}", "${EXAMPLE_IDS.file}");`,
  readSessionFile: `const content = await client.sessions.files.read("${sess}", "${EXAMPLE_IDS.file}");`,
  setSessionState: `const { version } = await client.sessions.setState("${sess}", { topic: "delivery" }, { ifVersion: 1 });`,
  closeSession: `const session = await client.sessions.close("${sess}", { reason: "The customer left." });`,
  cancelSession: `const session = await client.sessions.cancel("${sess}");`,
  listSessionRuns: `for await (const run of client.sessions.runs("${sess}")) console.log(run.turn, run.status);`,
  listSessionStreams: `for await (const stream of client.sessions.streams("${sess}")) console.log(stream.name);`,
  appendSessionInput: `const record = await client.sessions.send("${sess}", { text: "Where is my parcel?" });`,
  appendSessionInputByExternalId: `const record = await client.sessions.send({ externalId: "chat-4711" }, { text: "Where is my parcel?" });`,
  withdrawSessionInput: `await client.sessions.withdraw("${sess}", 3);`,
  withdrawSessionInputByExternalId: `await client.sessions.withdraw({ externalId: "chat-4711" }, 3);`,
  appendSessionOutput: `const record = await client.sessions.append("${sess}", { text: "It left Vienna this morning." });`,
  listSessionInputs: `${SESSION}
for await (const record of session.input("input", { follow: false })) console.log(record.data);`,
  listSessionOutputs: `${SESSION}
for await (const record of session.output("output", { follow: false })) console.log(record.data);`,
  readSessionInputs: `${SESSION}
for await (const record of session.input("input")) console.log(record.data);`,
  readSessionOutputs: `${SESSION}
for await (const record of session.output("output")) console.log(record.data);`,
  listRuns: `for await (const run of client.runs.list({ status: "failed" })) console.log(run.id, run.failure?.message);`,
  countRuns: "const { queued, running } = await client.runs.counts();",
  getRun: `const run = await client.runs.get("${run}");`,
  createBulkAction: `const action = await client.runs.bulkActions.create({ action: "cancel", filter: { task: "send-report", status: ["queued", "running"] } });`,
  listBulkActions:
    "for await (const action of client.runs.bulkActions.list()) console.log(action.id, action.status);",
  getBulkAction: `const { status, done, failed } = await client.runs.bulkActions.get("${EXAMPLE_IDS.bulk}");`,
  cancelBulkAction: `const action = await client.runs.bulkActions.cancel("${EXAMPLE_IDS.bulk}");`,
  listBulkActionItems: `for await (const item of client.runs.bulkActions.items("${EXAMPLE_IDS.bulk}")) console.log(item.runId, item.outcome);`,
  cancelRun: `const run = await client.runs.cancel("${run}");`,
  listRunEvents: `for await (const event of client.runs.events("${run}")) console.log(event.kind, event.message);`,
  listRunLogs: `for await (const chunk of client.runs.logs("${run}")) process.stdout.write(decodeBase64(chunk.data));`,
  getRunLogs: `const { stdout, stderr } = await client.runs.logSnapshot("${run}");`,
  uploadDeploymentBundle: `const code = await readFile("bundle.mjs");
const digest = createHash("sha256").update(code).digest("hex");
await client.deployments.uploadBundle(digest, code);`,
  createDeployment: `const deployment = await client.deployments.create({
  manifest: { tasks: [{ id: "send-report", queue: "reports" }] },
  bundleDigest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
});`,
  listDeployments:
    "for await (const deployment of client.deployments.list()) console.log(deployment.version, deployment.status);",
  getCurrentDeployment: "const deployment = await client.deployments.current();",
  getDeployment: `const deployment = await client.deployments.get("${dep}");`,
  promoteDeployment: `const deployment = await client.deployments.promote("${dep}");`,
  listDeploymentEvents: `for await (const event of client.deployments.events("${dep}")) console.log(event.kind);`,
  createToken: `const token = await client.tokens.create({
  timeout: "3d",
  metadata: { question: "Send the offer to 412 customers?" },
  idempotencyKey: "offer-2026-11",
});`,
  listTokens: `for await (const token of client.tokens.list({ status: "pending" })) console.log(token.id);`,
  getToken: `const token = await client.tokens.get("${tok}");`,
  completeToken: `const { status } = await client.tokens.complete("${tok}", { approved: true });`,
  cancelToken: `const token = await client.tokens.cancel("${tok}");`,
  createPublicAccessToken: `const { publicAccessToken } = await client.publicAccessTokens.create({
  type: "session.output.read",
  session: { externalId: "chat-4711" },
  expiresIn: "15m",
});`,
  getRunMetrics: `const { total } = await client.runs.metrics({ window: "1h", task: "send-report" });`,
  listEntrypointMetrics:
    'const { entrypoints } = await client.runs.entrypointMetrics({ window: "7d", kind: "task" });',
  listErrorGroups:
    'for await (const group of client.errorGroups.list({ status: "open" })) console.log(group.count, group.title);',
  getErrorGroup: `const group = await client.errorGroups.get("${err}");`,
  resolveErrorGroup: `const group = await client.errorGroups.resolve("${err}");`,
  muteErrorGroup: `const group = await client.errorGroups.mute("${err}");`,
  openErrorGroup: `const group = await client.errorGroups.open("${err}");`,
  putSchedule: `const schedule = await client.schedules.put({
  deduplicationKey: "weekly-report",
  task: "send-report",
  cron: "0 7 * * 1",
  timezone: "Europe/Vienna",
});`,
  listSchedules: "for await (const schedule of client.schedules.list()) console.log(schedule.cron);",
  getSchedule: `const schedule = await client.schedules.get("${sched}");`,
  replaceSchedule: `const schedule = await client.schedules.replace("${sched}", {
  task: "send-report",
  cron: "0 8 * * 1",
  timezone: "Europe/Vienna",
});`,
  activateSchedule: `const schedule = await client.schedules.activate("${sched}");`,
  deactivateSchedule: `const schedule = await client.schedules.deactivate("${sched}");`,
  deleteSchedule: `await client.schedules.delete("${sched}");`,
  listScheduleOccurrences: `for await (const occurrence of client.schedules.occurrences("${sched}")) console.log(occurrence.status);`,
  putSecret: `const secret = await client.secrets.set("MAIL_API_KEY", "s3cret");`,
  listSecrets: "for await (const secret of client.secrets.list()) console.log(secret.name);",
  getSecret: `const secret = await client.secrets.get("MAIL_API_KEY");`,
  deleteSecret: `await client.secrets.delete("MAIL_API_KEY");`,
  rotateSecret: `const secret = await client.secrets.rotate("${sec}", "n3w");`,
  revokeSecret: `const secret = await client.secrets.revoke("${sec}");`,
  listSandboxes: "for await (const sandbox of client.sandboxes.list()) console.log(sandbox.declaredId);",
  getSandbox: `const sandbox = await client.sandboxes.get("${sbx}");`,
  createSandboxWorkspace: `const workspace = await client.sandboxes.createWorkspace("${sbx}", { externalId: "ticket-17" });`,
  createWorkspace: `const workspace = await client.workspaces.create({ externalId: "ticket-17", sandbox: "node" });`,
  listWorkspaces: "for await (const workspace of client.workspaces.list()) console.log(workspace.id);",
  getWorkspace: `const workspace = await client.workspaces.get("${ws}");`,
  updateWorkspace: `const workspace = await client.workspaces.update("${ws}", { tags: ["support"] });`,
  deleteWorkspace: `await client.workspaces.delete("${ws}");`,
  materializeWorkspace: `const workspace = await client.workspaces.materialize("${ws}");`,
  connectWorkspace: `const workspace = await client.workspaces.connect("${ws}");`,
  stopWorkspace: `const workspace = await client.workspaces.stop("${ws}");`,
  recoverWorkspace: `const workspace = await client.workspaces.recover("${ws}");`,
  discardWorkspace: `const workspace = await client.workspaces.discard("${ws}", { confirm: true });`,
  listWorkspaceVersions: `for await (const version of client.workspaces.versions.list("${ws}")) console.log(version.number);`,
  getWorkspaceVersion: `const version = await client.workspaces.versions.get("${ws}", "${wsv}");`,
  restoreWorkspaceVersion: `const version = await client.workspaces.versions.restore("${ws}", "${wsv}");`,
  diffWorkspaceVersion: `for await (const { change, path } of client.workspaces.versions.diff("${ws}", "${wsv}"))
  console.log(change, path);`,
  listWorkspaceFiles: `for await (const entry of client.workspaces.files.list("${ws}", "src")) console.log(entry.path);`,
  statWorkspaceFile: `const entry = await client.workspaces.files.stat("${ws}", "src/main.ts");`,
  readWorkspaceFile: `const text = await client.workspaces.files.readText("${ws}", "src/main.ts");`,
  writeWorkspaceFile: `const { versionId } = await client.workspaces.files.write("${ws}", "src/main.ts", "export {};");`,
  removeWorkspaceFile: `const { versionId } = await client.workspaces.files.delete("${ws}", "src/main.ts");`,
  createExec: `const command = await client.workspaces.exec("${ws}", ["npm", "test"], { timeout: "1m" });`,
  listExecs: `for await (const command of client.workspaces.execs.list("${ws}")) console.log(command.status);`,
  getExec: `const command = await client.workspaces.execs.get("${ws}", "${exec}");`,
  getExecInWorkspace: `${COMMAND}
const { exitCode, stdout, stderr } = await command.result();`,
  writeExecStdin: `${COMMAND}
await command.write("hello\\n");`,
  closeExecStdin: `${COMMAND}
await command.closeStdin();`,
  signalExec: `${COMMAND}
await command.signal("SIGTERM");`,
  readExecStdout: `${COMMAND}
for await (const bytes of command.stdout) process.stdout.write(bytes);`,
  readExecStderr: `${COMMAND}
for await (const bytes of command.stderr) process.stderr.write(bytes);`,
  createPty: `const terminal = await client.workspaces.pty("${ws}", { cols: 120, rows: 40 });`,
  listPtys: `for await (const terminal of client.workspaces.ptys.list("${ws}")) console.log(terminal.status);`,
  getPty: `const terminal = await client.workspaces.ptys.get("${ws}", "${pty}");`,
  writePty: `${TERMINAL}
await terminal.write("ls\\r");`,
  readPtyOutput: `${TERMINAL}
for await (const bytes of terminal.output) process.stdout.write(bytes);`,
  resizePty: `${TERMINAL}
await terminal.resize(100, 30);`,
  closePty: `${TERMINAL}
await terminal.close();`,
};

/** What a page does with public access tokens alone. */
const BROWSER_SAMPLES: Record<string, string> = {
  publicCompleteToken: `import { completeToken } from "@keelson/sdk/browser";

const { status } = await completeToken({
  url: "https://keelson.example.com",
  id: "${tok}",
  publicAccessToken: "kl_tkn_0000000000000000000000000000000000000",
  data: { approved: true },
});`,
  publicSendInput: `import { createSessionClient } from "@keelson/sdk/browser";

const session = createSessionClient({
  url: "https://keelson.example.com",
  session: { id: "${sess}" },
  token: "kl_pub_0000000000000000000000000000000000000",
});
await session.send("input", { text: "Where is my parcel?" });`,
  publicReadOutput: `import { createSessionClient } from "@keelson/sdk/browser";

const session = createSessionClient({
  url: "https://keelson.example.com",
  session: { id: "${sess}" },
  token: "kl_pub_0000000000000000000000000000000000000",
});
for await (const record of session.output("output")) console.log(record.data);`,
  publicListMessages: `import { createSessionClient } from "@keelson/sdk/browser";

const session = createSessionClient({
  url: "https://keelson.example.com",
  session: { id: "${sess}" },
  token: "kl_pub_0000000000000000000000000000000000000",
});
for await (const message of session.messages()) console.log(message.status, message.data);`,
  publicInterruptMessage: `import { createSessionClient } from "@keelson/sdk/browser";

const session = createSessionClient({
  url: "https://keelson.example.com",
  session: { id: "${sess}" },
  token: "kl_pub_0000000000000000000000000000000000000",
});
const { status } = await session.interrupt("${msg}");`,
};

const BY_EXTERNAL_ID = "ByExternalId";

/** The id that the operation has in /v1: `apiGetRun` is there as `getRun`, and does the same. */
export const baseOperation = (operationId: string): string =>
  operationId.replace(/^api(?=[A-Z])/, "").replace(/^[A-Z]/, (letter) => letter.toLowerCase());

function bodyOf(base: string): string | null {
  const own = SAMPLES[base];
  if (own !== undefined) return own;
  if (!base.endsWith(BY_EXTERNAL_ID)) return null;
  // A session that is named by its external id is opened once and asked the same.
  const byId = SAMPLES[base.slice(0, -BY_EXTERNAL_ID.length)];
  if (byId === undefined) return null;
  const opened = `client.sessions.open({ externalId: "chat-4711" })`;
  return byId
    .replace(`client.sessions.open("${sess}")`, opened)
    .replace(/client\.sessions\.(\w+)\("sess_\w+"(?:, )?/, `${opened}.$1(`);
}

/** A whole file in TypeScript, or null where the SDK has no method for the operation. */
export function sdkSample(operationId: string): string | null {
  const browser = BROWSER_SAMPLES[operationId.replace(BY_EXTERNAL_ID, "")];
  if (browser !== undefined)
    return operationId.endsWith(BY_EXTERNAL_ID)
      ? browser.replace(`{ id: "${sess}" }`, `{ externalId: "chat-4711" }`)
      : browser;
  const body = bodyOf(baseOperation(operationId));
  if (body === null) return null;
  const imports = [
    ...(body.includes("createHash(") ? [`import { createHash } from "node:crypto";`] : []),
    ...(body.includes("readFile(") ? [`import { readFile } from "node:fs/promises";`] : []),
    `import { Client${body.includes("decodeBase64(") ? ", decodeBase64" : ""} } from "@keelson/sdk";`,
  ];
  return `${imports.join("\n")}\n\nconst client = new Client(); // KEELSON_URL and KEELSON_API_KEY\n${body}`;
}
