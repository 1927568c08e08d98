import type { IncomingMessage } from "node:http";
import type {
  EnvironmentPermission,
  OrganizationPermission,
  PublicPermission,
  Role,
} from "@keelson/contract";
import type { Static, TSchema } from "typebox";
import type { Feed } from "../core/feeds/feed.ts";
import type { AuditDeclaration, Audited } from "./audit.ts";
import type { Frames } from "./event-stream.ts";
import type { PublicAccess } from "../core/public-access/public-access.ts";
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

/** A browser with the token's own public token. */
export type CompletionTokenScope = { environmentId: string; tokenId: string };

/** A user as such. */
export type UserScope = { userId: string; isAdmin: boolean; sessionId: string };

/** A user in one of their organizations. */
export type OrganizationScope = UserScope & { organizationId: string; role: Role };

/** A user in a project that the path names, and in its environment where the path names one. */
export type ProjectScope = OrganizationScope & { projectId: string; environmentId: string | null };

/**
 * Who may call.
 * - `environment`: an API key and, on /api, a user with `project_id` and `environment_id`
 * - `organization`: a user with `organization_id`, which may be left out by a member of one alone
 * - `project`: a user; the path names the project as `:project_id`, and maybe an environment as `:environment_id`
 * - `user`: any user; `caller`: any user or API key; `visitor`: anybody, known as a user if a session comes along
 * - `completion_token`, `public_access`: a browser with a token that was made for it
 */
export type Access =
  | { kind: "public" }
  | { kind: "environment"; permission: EnvironmentPermission }
  | { kind: "organization"; permission: OrganizationPermission }
  | { kind: "project"; permission: OrganizationPermission }
  | { kind: "user" }
  | { kind: "caller" }
  | { kind: "visitor" }
  | { kind: "worker" }
  | { kind: "completion_token" }
  | { kind: "public_access"; permission: PublicPermission }
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
  /** The session that the caller showed by cookie; null with a bearer credential, or none. */
  sessionCookie: string | null;
  /** For cookies, which few routes look at. */
  message: IncomingMessage;
  acceptsEventStream: boolean;
  /** As it was sent; null when there is none. */
  contentType: string | null;
  /** A header of HTTP itself, such as `range`; null when it is absent. */
  header(name: "if-match" | "if-none-match" | "range" | "if-range"): string | null;
};

/** What a route of each kind is told of its caller. */
type ScopeOf = {
  public: null;
  environment: EnvironmentScope;
  organization: OrganizationScope;
  project: ProjectScope;
  user: UserScope;
  caller: UserScope | EnvironmentScope;
  visitor: UserScope | null;
  worker: WorkerScope;
  completion_token: CompletionTokenScope;
  public_access: PublicAccess;
  admin: null;
  capacity: null;
};

export type Scope = ScopeOf[Access["kind"]];

type Part<S> = S extends TSchema ? Static<S> : undefined;

export type Call<A extends Access, P, Q, B> = {
  server: ServerContext;
  scope: ScopeOf[A["kind"]];
  params: Part<P>;
  query: Part<Q>;
  body: Part<B>;
  request: RequestFacts;
  /** The transaction of a route that declares an audit event. */
  audited: Audited;
};

/** A list is one header line each: `set-cookie`. */
export type ReplyHeaders = Record<string, string | string[]>;

/** `json` is text that is already JSON, for hot answers; `events` is a feed of SSE frames; `bytes` is a raw body. */
export type Reply =
  | { status: number; body: unknown; headers?: ReplyHeaders }
  | { status: number; json: string; headers?: ReplyHeaders }
  | { status: 200; events: { feed: Feed<Frames>; after: number } }
  | {
      status: number;
      bytes: Uint8Array | AsyncIterable<Uint8Array>;
      contentType: string;
      headers?: ReplyHeaders;
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
  /**
   * The body is bytes and stays out of validation: a stream of the media type, or of any type (see
   * `any-body.ts`) a Buffer, which is undefined when there is no body.
   */
  rawBody?: {
    bodyLimitBytes: number;
    mediaType: string;
    /** What a JSON body may be instead; the handler is then given the object. */
    orJson?: TSchema;
  };
  /** The JSON body must mean the same to every reader: it is refused unless it is I-JSON (RFC 7493). */
  isIJson?: true;
  bodyLimitBytes?: number;
  /** Response schema by status; errors are added by the registry. */
  responses: Record<number, { description: string; schema?: TSchema; mediaType?: string }>;
  /** Example bodies for the document, checked against the schemas by a test. */
  examples?: { request?: unknown; response?: unknown };
  /**
   * Somebody becomes known by it, so each address may call it a few times a minute, counted exactly over all servers:
   * `poll` and `mint` more often, because devices ask again and again and fleets of workers start at once.
   */
  signIn?: "login" | "poll" | "mint";
  /** Pages of any origin may call it; absent: only the console's own. */
  cors?: "any-origin";
  /**
   * The operation stores its first answer in its own transaction (see core/idempotency). Absent: the route takes no key.
   */
  idempotency?: "own";
  /** Of a route that changes something: a test refuses one that says nothing. */
  audit?: AuditDeclaration;
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
