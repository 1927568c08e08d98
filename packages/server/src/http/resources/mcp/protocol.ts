/**
 * The Model Context Protocol as far as this server speaks it: tools, calls of tools as tasks, and questions of tasks to the
 * client's user. Source: the specification
 * 2025-11-25 (modelcontextprotocol.io), transport "streamable HTTP" without sessions.
 */

/** The newest first. */
export const PROTOCOL_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

/** JSON-RPC 2.0, section 5.1. */
export const RPC_ERRORS = { methodNotFound: -32601, invalidParams: -32602, internalError: -32603 } as const;

/** In `_meta`: which task a message belongs to. */
export const RELATED_TASK = "io.modelcontextprotocol/related-task";

/** A request that cannot be carried out as it is. What goes wrong in a tool is a result of the tool instead. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: (typeof RPC_ERRORS)[keyof typeof RPC_ERRORS], message: string) {
    super(message);
    this.code = code;
  }
}

export type Fields = Record<string, unknown>;

export type Tool = {
  name: string;
  description: string;
  /** JSON Schema of an object. */
  inputSchema: Fields;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
  execution?: { taskSupport: "optional" | "forbidden" };
};

export type ToolResult = {
  content: { type: "text"; text: string }[];
  structuredContent?: Fields;
  isError?: true;
};

/** A call of a tool that goes on by itself. Here it is a run, and its id is the run's. */
export type McpTask = {
  taskId: string;
  status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** Milliseconds; null: as long as the server keeps runs. */
  ttl: number | null;
  /** Milliseconds. */
  pollInterval: number;
};

export const textResult = (text: string, more: Omit<ToolResult, "content"> = {}): ToolResult => ({
  content: [{ type: "text", text }],
  ...more,
});

/** Structured content is an object; whatever else an answer is, its text says all of it. */
export const jsonResult = (value: unknown): ToolResult =>
  textResult(JSON.stringify(value), isFields(value) ? { structuredContent: value } : {});

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of the request's `params`. @throws RpcError when it is there and is no text */
export function textOf(params: Fields, name: string): string {
  const value = params[name];
  if (typeof value !== "string")
    throw new RpcError(RPC_ERRORS.invalidParams, `params.${name} must be a string.`);
  return value;
}

export function fieldsOf(params: Fields, name: string): Fields {
  const value = params[name] ?? {};
  if (!isFields(value)) throw new RpcError(RPC_ERRORS.invalidParams, `params.${name} must be an object.`);
  return value;
}
