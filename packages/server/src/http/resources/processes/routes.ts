import {
  CreateExec,
  CreatePty,
  Exec,
  ExecStdin,
  InputOffset,
  LIMITS,
  OutputPage,
  PageQuery,
  Pty,
  PtyInput,
  ResizePty,
  SignalExec,
  type Uuid,
} from "@keelson/contract";
import { Type } from "typebox";
import { listProcesses, type ProcessKey } from "../../../core/processes/process-reads.ts";
import type { ProcessKind } from "../../../core/processes/processes.ts";
import { requireWorkspace } from "../../../core/workspaces/require-workspace.ts";
import type { ServerContext } from "../../../server-context.ts";
import { listRoute } from "../../edge/list-route.ts";
import {
  createKeptProcess,
  inputOf,
  inputReply,
  processReply,
  readOutput,
  sendControl,
  shown,
} from "./operate-process.ts";
import { EXAMPLE_EXEC, EXAMPLE_OUTPUT, EXAMPLE_PTY } from "./examples.ts";
import { Id } from "../../edge/params.ts";
import { route, type EnvironmentScope, type RouteDefinition } from "../../edge/route.ts";

/** Commands and terminals. Creating one asks for the workspace to be live; it is started there. */

const read = { kind: "environment", permission: "workspaces.read" } as const;
const exec = { kind: "environment", permission: "workspaces.exec" } as const;
const WorkspaceParams = { workspace_id: Id("ws") };
const ExecParams = { ...WorkspaceParams, exec_id: Id("exec") };
const PtyParams = { ...WorkspaceParams, pty_id: Id("pty") };
const OCTETS = "application/octet-stream";
/** Of JSON with base64 in it. */
const INPUT_BODY_BYTES = 2 * LIMITS.processInputBytes;

const OutputQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: "Chunks. Default 50." }),
    ),
    cursor: Type.Optional(Type.String({ description: "A byte offset. The answer has the output after it." })),
    follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
  },
  { additionalProperties: false },
);
const OUTPUT_TEXT =
  "Chunks after `cursor`; with `follow=1` or `Accept: text/event-stream` a stream of `chunk`, whose ids are the byte offset after them. At least " +
  "the last 8 MiB are kept: an older cursor is 410 `cursor_expired`, in a stream a `gap`. The stream ends with `end` and how the process ended.";
const INPUT_TEXT =
  "Raw bytes, or JSON with base64, at most 256 KiB. What the process does not read is kept up to 4 MiB, then 429. With `offset`, bytes that are " +
  "not the next ones are 409 `offset_mismatch`: a repeat is not taken twice.";

/** Which process a path names. */
const keyOf = (
  { environmentId }: EnvironmentScope,
  params: { workspace_id: Uuid<"ws">; exec_id?: Uuid<"exec">; pty_id?: Uuid<"pty"> },
  kind: ProcessKind,
): ProcessKey => ({
  environmentId,
  workspaceId: params.workspace_id,
  kind,
  id: (kind === "exec" ? params.exec_id : params.pty_id) as Uuid<"exec" | "pty">,
});

type ListCall = { server: ServerContext; scope: EnvironmentScope; params: { workspace_id: Uuid<"ws"> } };
const workspaceOf = async ({ server, scope, params }: ListCall): Promise<Uuid<"ws">> =>
  (await requireWorkspace(server.db, scope.environmentId, params.workspace_id)).id;

const output = {
  method: "GET",
  access: read,
  query: OutputQuery,
  description: OUTPUT_TEXT,
  responses: { 200: { description: "A page of chunks, or a stream.", schema: OutputPage } },
  refusals: [410],
  examples: { response: EXAMPLE_OUTPUT },
} as const;

const execs = { in: ["api"], tag: "Execs" } as const;
const execItem = {
  responses: { 200: { description: "The exec.", schema: Exec } },
  examples: { response: EXAMPLE_EXEC },
} as const;

const execRoutes: RouteDefinition[] = [
  route({
    ...execs,
    method: "POST",
    path: "/workspaces/:workspace_id/execs",
    name: "apiCreateExec",
    summary: "Run a command",
    description:
      "Starts `command` without a shell when the workspace is live. Its changes are committed as a version when it ends. `stdin` is its whole " +
      "input; without it, send input with the stdin routes.",
    access: exec,
    params: WorkspaceParams,
    body: CreateExec,
    bodyLimitBytes: LIMITS.bodyBytes,
    idempotency: "own",
    responses: { 201: { description: "The exec, pending.", schema: Exec } },
    examples: { request: { command: ["npm", "test"], timeout: "60s" }, response: EXAMPLE_EXEC },
    handle: (call) => createKeptProcess(call, call.params.workspace_id, { kind: "exec", body: call.body }),
  }),
  listRoute({
    ...execs,
    path: "/workspaces/:workspace_id/execs",
    name: "apiListExecs",
    summary: "List execs",
    description: "The commands of the workspace, newest first, also those that have ended.",
    access: read,
    params: WorkspaceParams,
    items: "execs",
    title: "execs",
    resource: Exec,
    example: EXAMPLE_EXEC,
    query: PageQuery,
    within: workspaceOf,
    read: ({ server, scope }, { within, after, limit }) => {
      const of = { environmentId: scope.environmentId, workspaceId: within, kind: "exec" } as const;
      return listProcesses(server.db, of, after, limit);
    },
    toWire: (row) => shown(row),
  }),
  route({
    ...execs,
    ...execItem,
    method: "GET",
    path: "/workspaces/:workspace_id/execs/:exec_id",
    name: "apiGetExec",
    summary: "Get an exec",
    description:
      "An exited process has either `exit_code` or `signal`. `version_id` is the version with its changes.",
    access: read,
    params: ExecParams,
    handle: ({ server, scope, params }) => processReply(server.db, keyOf(scope, params, "exec")),
  }),
  route({
    ...execs,
    method: "POST",
    path: "/workspaces/:workspace_id/execs/:exec_id/stdin",
    name: "apiWriteExecStdin",
    summary: "Write to stdin",
    description: INPUT_TEXT,
    access: exec,
    params: ExecParams,
    rawBody: { bodyLimitBytes: INPUT_BODY_BYTES, mediaType: OCTETS, orJson: ExecStdin },
    responses: { 200: { description: "Taken.", schema: InputOffset } },
    examples: { response: { offset: 6 } },
    prepare: ({ body }) => inputOf(body),
    handle: (call) => inputReply(call, keyOf(call.scope, call.params, "exec"), call.prepared),
  }),
  route({
    ...execs,
    method: "POST",
    path: "/workspaces/:workspace_id/execs/:exec_id/stdin/close",
    name: "apiCloseExecStdin",
    summary: "Close stdin",
    description: "The process reads the end of input after all sent bytes. Closing again changes nothing.",
    access: exec,
    params: ExecParams,
    responses: { 200: { description: "Closed.", schema: InputOffset } },
    examples: { response: { offset: 6 } },
    handle: (call) => inputReply(call, keyOf(call.scope, call.params, "exec"), "close"),
  }),
  route({
    ...execs,
    ...execItem,
    method: "POST",
    path: "/workspaces/:workspace_id/execs/:exec_id/signal",
    name: "apiSignalExec",
    summary: "Send a signal",
    description:
      "Sends the signal to the exec's process group. An exec that has not started is cancelled if the signal would end it.",
    access: exec,
    params: ExecParams,
    body: SignalExec,
    examples: { request: { signal: "SIGTERM" }, response: EXAMPLE_EXEC },
    transaction: "required",
    handle: (call) => {
      const key = keyOf(call.scope, call.params, "exec");
      return sendControl(call, key, { kind: "signal", signal: call.body.signal });
    },
  }),
  ...(["stdout", "stderr"] as const).map((stream) =>
    route({
      ...execs,
      ...output,
      path: `/workspaces/:workspace_id/execs/:exec_id/${stream}`,
      name: stream === "stdout" ? "apiReadExecStdout" : "apiReadExecStderr",
      summary: `Read or follow ${stream}`,
      params: ExecParams,
      handle: ({ server, scope, params, query, request }) => {
        const key = keyOf(scope, params, "exec");
        return readOutput(server, key, stream, query, request);
      },
    }),
  ),
];

const ptys = { in: ["api"], tag: "PTYs" } as const;
const ptyItem = {
  responses: { 200: { description: "The PTY.", schema: Pty } },
  examples: { response: EXAMPLE_PTY },
} as const;

const ptyRoutes: RouteDefinition[] = [
  route({
    ...ptys,
    method: "POST",
    path: "/workspaces/:workspace_id/pty",
    name: "apiCreatePty",
    summary: "Open a terminal",
    description:
      "Starts `command`, by default the login shell, in a new terminal when the workspace is live.",
    access: exec,
    params: WorkspaceParams,
    body: CreatePty,
    idempotency: "own",
    responses: { 201: { description: "The PTY, pending.", schema: Pty } },
    examples: { request: { cols: 120, rows: 40 }, response: EXAMPLE_PTY },
    handle: (call) => createKeptProcess(call, call.params.workspace_id, { kind: "pty", body: call.body }),
  }),
  listRoute({
    ...ptys,
    path: "/workspaces/:workspace_id/pty",
    name: "apiListPtys",
    summary: "List terminals",
    description: "The terminals of the workspace, newest first, also those that have ended.",
    access: read,
    params: WorkspaceParams,
    items: "ptys",
    title: "PTYs",
    resource: Pty,
    example: EXAMPLE_PTY,
    query: PageQuery,
    within: workspaceOf,
    read: ({ server, scope }, { within, after, limit }) => {
      const of = { environmentId: scope.environmentId, workspaceId: within, kind: "pty" } as const;
      return listProcesses(server.db, of, after, limit);
    },
    toWire: (row) => shown(row),
  }),
  route({
    ...ptys,
    ...ptyItem,
    method: "GET",
    path: "/workspaces/:workspace_id/pty/:pty_id",
    name: "apiGetPty",
    summary: "Get a terminal",
    description: "Shows the terminal's size and state, and its input and output in bytes.",
    access: read,
    params: PtyParams,
    handle: ({ server, scope, params }) => processReply(server.db, keyOf(scope, params, "pty")),
  }),
  route({
    ...ptys,
    method: "POST",
    path: "/workspaces/:workspace_id/pty/:pty_id/input",
    name: "apiWritePty",
    summary: "Type into a terminal",
    description: INPUT_TEXT,
    access: exec,
    params: PtyParams,
    rawBody: { bodyLimitBytes: INPUT_BODY_BYTES, mediaType: OCTETS, orJson: PtyInput },
    responses: { 200: { description: "Taken.", schema: InputOffset } },
    examples: { response: { offset: 6 } },
    prepare: ({ body }) => inputOf(body),
    handle: (call) => inputReply(call, keyOf(call.scope, call.params, "pty"), call.prepared),
  }),
  route({
    ...ptys,
    ...output,
    path: "/workspaces/:workspace_id/pty/:pty_id/output",
    name: "apiReadPtyOutput",
    summary: "Read or follow a terminal",
    params: PtyParams,
    handle: ({ server, scope, params, query, request }) => {
      const key = keyOf(scope, params, "pty");
      return readOutput(server, key, "stdout", query, request);
    },
  }),
  route({
    ...ptys,
    ...ptyItem,
    method: "POST",
    path: "/workspaces/:workspace_id/pty/:pty_id/resize",
    name: "apiResizePty",
    summary: "Resize a terminal",
    description: "Sends SIGWINCH to the program.",
    access: exec,
    params: PtyParams,
    body: ResizePty,
    examples: { request: { cols: 100, rows: 30 }, response: EXAMPLE_PTY },
    transaction: "required",
    handle: (call) =>
      sendControl(call, keyOf(call.scope, call.params, "pty"), { kind: "resize", ...call.body }),
  }),
  route({
    ...ptys,
    ...ptyItem,
    method: "POST",
    path: "/workspaces/:workspace_id/pty/:pty_id/close",
    name: "apiClosePty",
    summary: "Close a terminal",
    description:
      "Closes the terminal and ends its process group. After that, input and resize are 409 `invalid_state`, even while the worker is away. Closing again changes nothing.",
    access: exec,
    params: PtyParams,
    transaction: "required",
    handle: (call) => sendControl(call, keyOf(call.scope, call.params, "pty"), { kind: "close" }),
  }),
];

export const processRoutes: RouteDefinition[] = [...execRoutes, ...ptyRoutes];
