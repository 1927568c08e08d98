import {
  decodeId,
  isTerminalRunStatus,
  OAUTH_SCOPES,
  type Run,
  type Token,
  type Uuid,
} from "@keelson/contract";
import type { Feed } from "../../../core/feeds/feed.ts";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import { findRunStatus } from "../../../core/runs/run-reads.ts";
import { findAwaitedToken } from "../../../core/tokens/token-reads.ts";
import { DomainError, invalidRequest } from "../../../domain-error.ts";
import type { Followed, Frames } from "../../edge/event-stream.ts";
import type { InnerReply } from "../../edge/inner-calls.ts";
import type { Reply } from "../../edge/route.ts";
import { tokenJson } from "../tokens/wire.ts";
import type { McpCaller } from "./caller.ts";
import { elicitationForm, type ElicitationForm } from "./elicitation-form.ts";
import { isFields, RELATED_TASK, RPC_ERRORS, RpcError, type Fields, type McpTask } from "./protocol.ts";

/**
 * Questions to the client's user. A run that waits for a token asks by the response stream of `tasks/result`. The id of the
 * request that asks is the id of the token, so any server takes the answer, and none remembers that it has asked.
 */

const DID_NOT_FIT = "The last answer did not fit this form. Check the fields, and answer again.";
/** The longest timer; the wait ends with the stream. */
const FOREVER_MS = 2_147_483_647;

/** Whether the caller may see and answer what runs wait for: by the protocol as by the API. */
export const mayAnswer = ({ scope, readonly }: McpCaller): boolean =>
  !readonly && scope.permissions.has("tokens.read") && scope.permissions.has("tokens.complete");

/** The task as one that waits for its user, when it does. */
export async function withQuestion(caller: McpCaller, task: McpTask): Promise<McpTask> {
  if (task.status !== "working" || !mayAnswer(caller)) return task;
  const runId = decodeId("run", task.taskId);
  const token = runId === null ? null : await findQuestion(caller, runId);
  return token === null
    ? task
    : { ...task, status: "input_required", statusMessage: elicitationForm(token).message };
}

async function findQuestion({ server, scope }: McpCaller, runId: Uuid<"run">): Promise<Token | null> {
  const row = await findAwaitedToken(server.db, scope.environmentId, runId);
  return row === null ? null : (JSON.parse(tokenJson(row)) as Token);
}

/** What ends the stream: the response to the request that began it. */
type Response = { result: Fields } | { error: { code: number; message: string } };

/** Asks what the run waits for, one question after the other, and then answers the request with the run's result. */
export function followTask(
  caller: McpCaller,
  rpcId: string | number,
  run: Run,
  resultOf: () => Promise<Response>,
): Followed {
  const { server, scope, request } = caller;
  const { environmentId } = scope;
  const runId = decodeId("run", run.id);
  if (runId === null) throw new RpcError(RPC_ERRORS.invalidParams, `${run.id} is not the id of a run.`);
  const respond = (response: Response): Frames => frameOf({ id: rpcId, ...response });
  /** The question that the client has. */
  let asked: string | null = null;
  let askedBefore: string | null = null;
  let times = 0;
  const askAgainLater = ({ id }: Token): void => {
    const tokenId = decodeId("tok", id);
    if (tokenId === null) return;
    void server.wakes.wait(wakeKeys.question(tokenId), FOREVER_MS, request.signal).then((isWoken) => {
      if (!isWoken || asked !== id) return;
      asked = null;
      server.wakes.wakeLocal(wakeKeys.run(runId));
    });
  };
  const feed: Feed<Frames> = {
    // Of this reader alone: its frames have the id of its request.
    key: `mcp ${server.newUuid<"wait">()}`,
    source: { kind: "run", environmentId, id: runId },
    wakeKey: wakeKeys.run(runId),
    read: async (cursor) => {
      const status = await findRunStatus(server.db, environmentId, runId);
      if (status === null || isTerminalRunStatus(status))
        return { batch: respond(await resultOf()), cursor, end: true };
      const token = await findQuestion(caller, runId);
      if (token === null || token.id === asked) return { batch: null, cursor, end: undefined };
      times = token.id === askedBefore ? times + 1 : 1;
      asked = askedBefore = token.id;
      askAgainLater(token);
      return { batch: frameOf(questionOf(token, run.id, times)), cursor, end: undefined };
    },
  };
  const fail = (message: string): Frames => respond({ error: { code: RPC_ERRORS.internalError, message } });
  return {
    feed,
    after: 0,
    last: {
      end: () => null,
      error: ({ code, message }) => fail(`${code}: ${message}`),
      stop: () => fail(`The server stops, and run ${run.id} goes on. Ask for its result again.`),
    },
  };
}

/** Without an event id: who loses the stream asks for the result again. */
const frameOf = (message: Fields): string => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;

/** A request id is used once on a stream: the token's, and the next times with their number. */
function questionOf(token: Token, taskId: string, times: number): Fields {
  const { message, requestedSchema } = elicitationForm(token);
  const params = {
    message: times === 1 ? message : `${message}\n\n${DID_NOT_FIT}`,
    requestedSchema,
    _meta: { [RELATED_TASK]: { taskId } },
  };
  return { id: times === 1 ? token.id : `${token.id}.${times}`, method: "elicitation/create", params };
}

/** The token that a question of ours asks for. */
function askedToken(id: unknown): string | null {
  const [shown = ""] = typeof id === "string" ? id.split(".", 1) : [];
  return decodeId("tok", shown) === null ? null : shown;
}

/** What a client sends of its user: the response to a question. */
type Answer = { id: unknown; result: Fields | undefined; error: unknown };

/**
 * Takes an answer. Who is not the first changes nothing and is not refused: the run goes on with the first answer.
 *
 * @throws DomainError for an answer to no question, and for one that does not fit the form
 */
export async function takeAnswer(caller: McpCaller, { id, result, error }: Answer): Promise<Reply> {
  const accepted = { status: 202, body: undefined };
  const tokenId = askedToken(id);
  const params = { id: tokenId };
  if (tokenId === null)
    throw invalidRequest([{ path: "id", message: "is not the id of a question of this server" }]);
  if (caller.readonly) throw readOnlyRefusal(caller);
  const found = await callRoute(caller, "getToken", { params });
  if (found.status !== 200) return passOn(found);
  // The client cannot ask its user. The run waits for another answer.
  if (error !== undefined) return accepted;
  const token = JSON.parse(found.bytes.toString()) as Token;
  if (token.status !== "pending") return accepted;
  const data = dataOrAskAgain(caller, token, result);
  if (data === null) return accepted;
  const completed = await callRoute(caller, "completeToken", { params, body: data });
  return completed.status < 300 || completed.status === 409 ? accepted : passOn(completed);
}

/** The stream that asked may be at another server. The refusal of the answer has the reason, and the new question that there was one. */
function dataOrAskAgain(
  { server }: McpCaller,
  token: Token,
  result: Fields | undefined,
): { data: unknown } | null {
  try {
    return dataOf(elicitationForm(token), result);
  } catch (error) {
    const tokenId = decodeId("tok", token.id);
    if (tokenId !== null) server.wakes.wake(wakeKeys.question(tokenId));
    throw error;
  }
}

/** A client whose person could let it answer is told what to ask them for. */
const readOnlyRefusal = ({ scope }: McpCaller): DomainError =>
  new DomainError(
    "forbidden",
    "This client may look and not act, so it cannot answer a question. Connect it again, and let it look and act.",
    scope.grant?.withheld.has("tokens.complete") === true ? { scope: OAUTH_SCOPES.join(" ") } : undefined,
  );

/** @returns null when the answer completes nothing. */
function dataOf(form: ElicitationForm, result: Fields | undefined): { data: unknown } | null {
  const { action, content = {} } = result ?? {};
  switch (action) {
    case "accept": {
      if (!isFields(content))
        throw invalidRequest([{ path: "result.content", message: "must be an object" }]);
      const made = form.toData(content);
      if ("issues" in made) throw invalidRequest(made.issues);
      return made;
    }
    case "decline":
      return form.declined ?? null;
    case "cancel":
      return null;
    default:
      throw invalidRequest([{ path: "result.action", message: "must be accept, decline or cancel" }]);
  }
}

const callRoute = (
  { server, request }: McpCaller,
  operationId: string,
  call: { params: Fields; body?: Fields },
): Promise<InnerReply> =>
  server.innerCalls.call(request, { route: server.innerCalls.find(operationId), ...call });

const passOn = ({ status, bytes }: InnerReply): Reply => ({ status, json: bytes.toString() });
