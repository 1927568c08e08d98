import type { ErrorBody } from "@keelson/contract";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { InnerCall } from "../../edge/inner-calls.ts";
import type { EnvironmentScope, RequestFacts } from "../../edge/route.ts";
import { isFields, textResult, type Fields, type ToolResult } from "./protocol.ts";

/** Who calls a tool, and how far they want to go. */
export type McpCaller = {
  server: ServerContext;
  scope: EnvironmentScope;
  request: RequestFacts;
  /** No tool that changes anything. */
  readonly: boolean;
};

/** What a route of the API answered to a tool. */
export type Answered = { ok: true; bytes: Buffer; json: unknown } | { ok: false; result: ToolResult };

/**
 * Calls a route as the caller. A refusal is a result of the tool that its model can read and act on.
 *
 * @throws DomainError what the server cannot do now, which its caller may repeat
 */
export async function askRoute(
  { server, request }: McpCaller,
  operationId: string,
  call: Omit<InnerCall, "route">,
): Promise<Answered> {
  const route = server.innerCalls.find(operationId);
  const { status, contentType, bytes } = await server.innerCalls.call(request, { route, ...call });
  if (status >= 500) throw failureOf(operationId, status, bytes);
  const json: unknown = contentType.startsWith("application/json") ? JSON.parse(bytes.toString()) : null;
  return status < 400 ? { ok: true, bytes, json } : { ok: false, result: refusalOf(status, json) };
}

function failureOf(operationId: string, status: number, bytes: Buffer): Error {
  if (status !== 503 && status !== 507) return new Error(`${operationId} answered ${status}.`);
  const { error } = JSON.parse(bytes.toString()) as ErrorBody;
  return new DomainError(error.code, error.message, error.details ?? undefined);
}

function refusalOf(status: number, json: unknown): ToolResult {
  const error = isFields(json) && isFields(json["error"]) ? json["error"] : { message: `HTTP ${status}` };
  const { code, message, details } = error as { code?: string; message?: string; details?: Fields | null };
  const more = isFields(details) ? ` ${JSON.stringify(details)}` : "";
  return textResult(`${code ?? status}: ${message ?? ""}${more}`, { isError: true });
}
