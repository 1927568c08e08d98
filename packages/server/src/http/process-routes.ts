import {
  CreateExec,
  CreatePty,
  Exec,
  ExecStdin,
  InputOffset,
  LIMITS,
  OutputPage,
  Page,
  pageQuery,
  Pty,
  PtyInput,
  ResizePty,
  SignalExec,
} from "@keelson/contract";
import { Type } from "typebox";
import {
  answerControl,
  answerInput,
  answerOutput,
  answerProcess,
  answerProcessList,
  createOne,
  processKeyOf,
} from "./process-answers.ts";
import { EXAMPLE_EXEC, EXAMPLE_OUTPUT, EXAMPLE_PTY } from "./process-examples.ts";
import { route, type Route } from "./route.ts";
import { workspaceIdOf } from "./workspace-answers.ts";
import { WorkspaceParams } from "./workspace-routes.ts";

/** Commands and terminals. Creating one asks for the workspace to be live; it is started there. */

const read = { kind: "environment", permission: "workspaces.read" } as const;
const exec = { kind: "environment", permission: "workspaces.exec" } as const;
const ExecParams = Type.Object({ workspace_id: Type.String(), exec_id: Type.String() });
const PtyParams = Type.Object({ workspace_id: Type.String(), pty_id: Type.String() });
const OCTETS = "application/octet-stream";
/** Of JSON with base64 in it. */
const INPUT_BODY_BYTES = 2 * LIMITS.processInputBytes;

const OutputQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: "Chunks. Default 50." }),
    ),
    cursor: Type.Optional(Type.String({ description: "A byte offset; output after it." })),
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

const listQuery = Type.Object(pageQuery(), { additionalProperties: false });
const output = {
  method: "GET",
  access: read,
  query: OutputQuery,
  description: OUTPUT_TEXT,
  responses: { 200: { description: "A page of chunks, or a stream.", schema: OutputPage } },
  examples: { response: EXAMPLE_OUTPUT },
} as const;

const execs = { family: "api", tag: "Execs" } as const;
const execItem = {
  responses: { 200: { description: "The exec.", schema: Exec } },
  examples: { response: EXAMPLE_EXEC },
} as const;

const execRoutes: Route[] = [
  route({
    ...execs,
    method: "POST",
    path: "/api/workspaces/:workspace_id/execs",
    operationId: "apiCreateExec",
    summary: "Run a command",
    description:
      "Starts `command` as it is, without a shell, once the workspace is live. What it changes is committed as a version when it ends. `stdin` is all of " +
      "its input; without it, input is sent by the stdin routes.",
    access: exec,
    params: WorkspaceParams,
    body: CreateExec,
    bodyLimitBytes: LIMITS.bodyBytes,
    idempotency: "own",
    responses: { 201: { description: "The exec, pending.", schema: Exec } },
    examples: { request: { command: ["npm", "test"], timeout: "60s" }, response: EXAMPLE_EXEC },
    handle: async ({ server, scope, params, body, request }) => {
      const workspaceId = workspaceIdOf(params.workspace_id);
      return (await createOne(server, scope, workspaceId, { kind: "exec", body }, request)).reply;
    },
  }),
  route({
    ...execs,
    method: "GET",
    path: "/api/workspaces/:workspace_id/execs",
    operationId: "apiListExecs",
    summary: "List execs",
    description: "The commands of the workspace, newest first, also those that have ended.",
    access: read,
    params: WorkspaceParams,
    query: listQuery,
    responses: { 200: { description: "A page of execs.", schema: Page("execs", Exec) } },
    examples: { response: { execs: [EXAMPLE_EXEC], next_cursor: null } },
    handle: ({ server, scope, params, query }) =>
      answerProcessList(server, scope, workspaceIdOf(params.workspace_id), "exec", query),
  }),
  route({
    ...execs,
    ...execItem,
    method: "GET",
    path: "/api/workspaces/:workspace_id/execs/:exec_id",
    operationId: "apiGetExec",
    summary: "Get an exec",
    description: "`exit_code` or `signal` once it has exited, never both. `version_id` is what it left.",
    access: read,
    params: ExecParams,
    handle: ({ server, scope, params }) =>
      answerProcess(server, processKeyOf(scope, params.workspace_id, "exec", params.exec_id)),
  }),
  route({
    ...execs,
    method: "POST",
    path: "/api/workspaces/:workspace_id/execs/:exec_id/stdin",
    operationId: "apiWriteExecStdin",
    summary: "Write to stdin",
    description: INPUT_TEXT,
    access: exec,
    params: ExecParams,
    rawBody: { bodyLimitBytes: INPUT_BODY_BYTES, mediaType: OCTETS, orJson: ExecStdin },
    responses: { 200: { description: "Taken.", schema: InputOffset } },
    examples: { response: { offset: 6 } },
    handle: ({ server, scope, params, body }) =>
      answerInput(server, processKeyOf(scope, params.workspace_id, "exec", params.exec_id), body),
  }),
  route({
    ...execs,
    method: "POST",
    path: "/api/workspaces/:workspace_id/execs/:exec_id/stdin/close",
    operationId: "apiCloseExecStdin",
    summary: "Close stdin",
    description: "The process reads its end after all that was sent. Closing again changes nothing.",
    access: exec,
    params: ExecParams,
    responses: { 200: { description: "Closed.", schema: InputOffset } },
    examples: { response: { offset: 6 } },
    handle: ({ server, scope, params }) =>
      answerInput(server, processKeyOf(scope, params.workspace_id, "exec", params.exec_id), "close"),
  }),
  route({
    ...execs,
    ...execItem,
    method: "POST",
    path: "/api/workspaces/:workspace_id/execs/:exec_id/signal",
    operationId: "apiSignalExec",
    summary: "Send a signal",
    description:
      "To the exec's whole process group. One that has not begun and would be ended by it is cancelled.",
    access: exec,
    params: ExecParams,
    body: SignalExec,
    examples: { request: { signal: "SIGTERM" }, response: EXAMPLE_EXEC },
    handle: ({ server, scope, params, body }) =>
      answerControl(server, processKeyOf(scope, params.workspace_id, "exec", params.exec_id), {
        kind: "signal",
        signal: body.signal,
      }),
  }),
  ...(["stdout", "stderr"] as const).map((stream) =>
    route({
      ...execs,
      ...output,
      path: `/api/workspaces/:workspace_id/execs/:exec_id/${stream}`,
      operationId: stream === "stdout" ? "apiReadExecStdout" : "apiReadExecStderr",
      summary: `Read or follow ${stream}`,
      params: ExecParams,
      handle: ({ server, scope, params, query, request }) => {
        const key = processKeyOf(scope, params.workspace_id, "exec", params.exec_id);
        return answerOutput(server, key, stream, query, request);
      },
    }),
  ),
];

const ptys = { family: "api", tag: "PTYs" } as const;
const ptyItem = {
  responses: { 200: { description: "The PTY.", schema: Pty } },
  examples: { response: EXAMPLE_PTY },
} as const;

const ptyRoutes: Route[] = [
  route({
    ...ptys,
    method: "POST",
    path: "/api/workspaces/:workspace_id/pty",
    operationId: "apiCreatePty",
    summary: "Open a terminal",
    description:
      "Starts `command`, by default the login shell, in a terminal of its own once the workspace is live.",
    access: exec,
    params: WorkspaceParams,
    body: CreatePty,
    idempotency: "own",
    responses: { 201: { description: "The PTY, pending.", schema: Pty } },
    examples: { request: { cols: 120, rows: 40 }, response: EXAMPLE_PTY },
    handle: async ({ server, scope, params, body, request }) => {
      const workspaceId = workspaceIdOf(params.workspace_id);
      return (await createOne(server, scope, workspaceId, { kind: "pty", body }, request)).reply;
    },
  }),
  route({
    ...ptys,
    method: "GET",
    path: "/api/workspaces/:workspace_id/pty",
    operationId: "apiListPtys",
    summary: "List terminals",
    description: "The terminals of the workspace, newest first, also those that have ended.",
    access: read,
    params: WorkspaceParams,
    query: listQuery,
    responses: { 200: { description: "A page of PTYs.", schema: Page("ptys", Pty) } },
    examples: { response: { ptys: [EXAMPLE_PTY], next_cursor: null } },
    handle: ({ server, scope, params, query }) =>
      answerProcessList(server, scope, workspaceIdOf(params.workspace_id), "pty", query),
  }),
  route({
    ...ptys,
    ...ptyItem,
    method: "GET",
    path: "/api/workspaces/:workspace_id/pty/:pty_id",
    operationId: "apiGetPty",
    summary: "Get a terminal",
    description: "Its size and state, and how many bytes went in and out.",
    access: read,
    params: PtyParams,
    handle: ({ server, scope, params }) =>
      answerProcess(server, processKeyOf(scope, params.workspace_id, "pty", params.pty_id)),
  }),
  route({
    ...ptys,
    method: "POST",
    path: "/api/workspaces/:workspace_id/pty/:pty_id/input",
    operationId: "apiWritePty",
    summary: "Type into a terminal",
    description: INPUT_TEXT,
    access: exec,
    params: PtyParams,
    rawBody: { bodyLimitBytes: INPUT_BODY_BYTES, mediaType: OCTETS, orJson: PtyInput },
    responses: { 200: { description: "Taken.", schema: InputOffset } },
    examples: { response: { offset: 6 } },
    handle: ({ server, scope, params, body }) =>
      answerInput(server, processKeyOf(scope, params.workspace_id, "pty", params.pty_id), body),
  }),
  route({
    ...ptys,
    ...output,
    path: "/api/workspaces/:workspace_id/pty/:pty_id/output",
    operationId: "apiReadPtyOutput",
    summary: "Read or follow a terminal",
    params: PtyParams,
    handle: ({ server, scope, params, query, request }) => {
      const key = processKeyOf(scope, params.workspace_id, "pty", params.pty_id);
      return answerOutput(server, key, "stdout", query, request);
    },
  }),
  route({
    ...ptys,
    ...ptyItem,
    method: "POST",
    path: "/api/workspaces/:workspace_id/pty/:pty_id/resize",
    operationId: "apiResizePty",
    summary: "Resize a terminal",
    description: "Its program is told by SIGWINCH.",
    access: exec,
    params: PtyParams,
    body: ResizePty,
    examples: { request: { cols: 100, rows: 30 }, response: EXAMPLE_PTY },
    handle: ({ server, scope, params, body }) =>
      answerControl(server, processKeyOf(scope, params.workspace_id, "pty", params.pty_id), {
        kind: "resize",
        ...body,
      }),
  }),
  route({
    ...ptys,
    ...ptyItem,
    method: "POST",
    path: "/api/workspaces/:workspace_id/pty/:pty_id/close",
    operationId: "apiClosePty",
    summary: "Close a terminal",
    description: "Hangs up: the whole process group goes. Closing again changes nothing.",
    access: exec,
    params: PtyParams,
    handle: ({ server, scope, params }) =>
      answerControl(server, processKeyOf(scope, params.workspace_id, "pty", params.pty_id), {
        kind: "close",
      }),
  }),
];

export const processRoutes: Route[] = [...execRoutes, ...ptyRoutes];
