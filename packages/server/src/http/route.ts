import type { Permission } from "@keelson/contract";
import type { Static, TSchema } from "typebox";
import type { ServerContext } from "../server-context.ts";

/**
 * A route as data: one registry of these feeds Fastify, the OpenAPI document and the authorization matrix.
 * A handler calls one operation or one read; everything else (version, authentication, permission, limits,
 * validation, errors, idempotency) happens around it.
 */
export type Family = "api" | "api-public" | "v1" | "admin" | "capacity" | "worker" | "system";

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Whom a credential of an environment's route stands for, and where it acts. */
export type EnvironmentScope = {
  organizationId: string;
  projectId: string;
  environmentId: string;
  workerGroupId: string;
  caller: { kind: "api_key" | "user"; id: string };
};

export type WorkerScope = { workerId: string; workerGroupId: string };

/** Who may call. `environment` is an API key and, on /api, a user with `project_id` and `environment_id`. */
export type Access =
  | { kind: "public" }
  | { kind: "environment"; permission: Permission }
  | { kind: "user" }
  | { kind: "worker" }
  | { kind: "admin" }
  | { kind: "capacity" };

/** What came with the request besides its content. */
export type RequestFacts = {
  requestId: string;
  /** Aborted when the caller hangs up. */
  signal: AbortSignal;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  /** From the body or the header, already checked to agree; null where the route takes none. */
  idempotencyKey: string | null;
  lastEventId: string | null;
  acceptsEventStream: boolean;
};

type Scope<A extends Access> = A extends { kind: "environment" }
  ? EnvironmentScope
  : A extends { kind: "worker" }
    ? WorkerScope
    : A extends { kind: "user" }
      ? { userId: string; isAdmin: boolean }
      : null;

type Part<S> = S extends TSchema ? Static<S> : undefined;

export type Call<A extends Access, P, Q, B> = {
  server: ServerContext;
  scope: Scope<A>;
  params: Part<P>;
  query: Part<Q>;
  body: Part<B>;
  request: RequestFacts;
};

/** `json` is text that is already JSON, for hot answers; `events` are SSE frames; `bytes` is a raw body. */
export type Reply =
  | { status: number; body: unknown; headers?: Record<string, string> }
  | { status: number; json: string; headers?: Record<string, string> }
  | { status: 200; events: AsyncIterable<string> }
  | {
      status: number;
      bytes: Uint8Array | AsyncIterable<Uint8Array>;
      contentType: string;
      headers?: Record<string, string>;
    };

export type Route<
  A extends Access = Access,
  P extends TSchema | undefined = TSchema | undefined,
  Q extends TSchema | undefined = TSchema | undefined,
  B extends TSchema | undefined = TSchema | undefined,
> = {
  family: Family;
  method: Method;
  /** Fastify syntax: `/v1/runs/:id`. */
  path: string;
  /** OpenAPI operation id, camelCase, unique: `getRun`. */
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  access: A;
  params?: P;
  query?: Q;
  body?: B;
  /** `raw`: the body is bytes and is not parsed; `request.body` stays out of validation. */
  rawBody?: { bodyLimitBytes: number; mediaType: string };
  bodyLimitBytes?: number;
  /** Response schema by status; errors are added by the registry. */
  responses: Record<number, { description: string; schema?: TSchema; mediaType?: string }>;
  /** Example bodies for the document, checked against the schemas by a test. */
  examples?: { request?: unknown; response?: unknown };
  /** Pages of any origin may call it; absent: only the console's own. */
  cors?: "any-origin";
  /**
   * The operation stores its first answer in its own transaction (see core/idempotency). Absent: the route takes no key.
   */
  idempotency?: "own";
  handle(call: Call<A, P, Q, B>): Promise<Reply>;
};

/** Gives a literal route its precise types and forgets them again for the registry. */
export const route = <
  const A extends Access,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(
  definition: Route<A, P, Q, B>,
): Route => definition;
