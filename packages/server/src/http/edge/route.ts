import type { IncomingMessage } from "node:http";
import type {
  EnvironmentPermission,
  OrganizationPermission,
  OauthAccess,
  PublicRunPermission,
  PublicSessionPermission,
  Role,
  Uuid,
} from "@keelson/contract";
import type { Static, TSchema } from "typebox";
import type { OddItems } from "./check-i-json.ts";
import type { Tx } from "../../db/queryable.ts";
import type { AuditDeclaration, AuditTarget, WriteAudit } from "./audit.ts";
import type { Followed } from "./event-stream.ts";
import type { Params, ParamsOf } from "./params.ts";
import type { Place } from "./places.ts";
import type { RunAccess, StreamAccess } from "../../core/public-access/public-access.ts";
import type { DomainError } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";

/**
 * A route as data: one registry of these feeds Fastify, the OpenAPI document and the authorization matrix.
 * A handler calls one operation or one read; everything else (version, authentication, permission, limits,
 * validation, errors, idempotency) happens around it.
 */
export type Family = "api" | "api-public" | "v1" | "admin" | "capacity" | "worker" | "system";

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Whom a credential of an environment's route stands for, and where it acts. */
export type EnvironmentScope = {
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  caller:
    | { kind: "api_key"; id: Uuid<"key"> }
    | { kind: "user"; id: Uuid<"user"> }
    | { kind: "run"; id: Uuid<"run">; attemptNumber: number };
  /** What the caller may do here. A route that hands out a right checks that the caller has the right. */
  permissions: ReadonlySet<string>;
  /** Of a client that acts for its user: what they gave it, and what they could give it as well. */
  grant?: { access: OauthAccess; withheld: ReadonlySet<string> };
};

export type WorkerScope = { workerId: Uuid<"wkr">; workerGroupId: Uuid<"wgrp"> };

/** A browser with the token's own public token. */
export type CompletionTokenScope = { environmentId: Uuid<"env">; tokenId: Uuid<"tok"> };

/** A user as such. */
export type UserScope = { userId: Uuid<"user">; isAdmin: boolean; sessionId: Uuid<"usess"> };

/** A user in one of their organizations. */
export type OrganizationScope = UserScope & { organizationId: Uuid<"org">; role: Role };

/** A user in a project that the path names, and in its environment where the path names one. */
export type ProjectScope = OrganizationScope & { projectId: Uuid<"proj">; environmentId: Uuid<"env"> | null };

/**
 * Who may call.
 * - `environment`: an API key, a run, where it `connects` a client of a person, and, on /api, a user with `project_id` and `environment_id`
 * - `organization`: a user with `organization_id`, which may be left out by a member of one alone
 * - `project`: a user; the path names the project as `:project_id`, and maybe an environment as `:environment_id`
 * - `user`: any user; `caller`: any user, API key or run; `visitor`: anybody, known as a user if a session comes along
 * - `completion_token`, `public_access`, `public_run_access`: a browser with a token that was made for it
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
  | { kind: "public_access"; permission: PublicSessionPermission }
  | { kind: "public_run_access"; permission: PublicRunPermission }
  | { kind: "admin" }
  | { kind: "capacity" };

/** What came with the request besides its content. */
export type RequestFacts = {
  requestId: string;
  /** Aborted when the caller hangs up, or may not wait any longer. */
  signal: AbortSignal;
  /** What ended the wait of a caller who may not wait any longer. */
  refusal: DomainError | null;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  /** From the body or the header, already checked to agree; null where the route takes none. */
  idempotencyKey: string | null;
  /** Whom a caller without a credential is counted as. */
  address: string;
  lastEventId: string | null;
  /** The session that the caller showed by cookie; null with a bearer credential, or none. */
  sessionCookie: string | null;
  /** For cookies, which few routes look at. */
  message: IncomingMessage;
  acceptsEventStream: boolean;
  /** As it was sent; null when there is none. */
  contentType: string | null;
  /** Items that are no I-JSON by their index, of a route with `separateItems`; null when there are none. */
  oddItems: OddItems | null;
  /** Whether a worker's JSON may hold NUL or half of a surrogate pair. */
  mayHoldOddText: boolean;
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
  public_access: StreamAccess;
  public_run_access: RunAccess;
  admin: null;
  capacity: null;
};

export type Scope = ScopeOf[Access["kind"]];

type Part<S> = S extends TSchema ? Static<S> : undefined;

/**
 * - `required`: the handler is run in a transaction, again from its start when that has to be repeated
 * - `snapshot`: all that the handler reads is of one moment, and it writes nothing
 */
export type Transaction = "required" | "snapshot" | undefined;

export type Call<A extends Access, P, Q, B, T extends Transaction = undefined, R = undefined> = {
  server: ServerContext;
  scope: ScopeOf[A["kind"]];
  params: P extends Params ? ParamsOf<P> : undefined;
  query: Part<Q>;
  body: Part<B>;
  request: RequestFacts;
  tx: T extends string ? Tx : undefined;
  /**
   * Says what the audit event of the route's transaction is of; null when nothing was done. A route that declares an event
   * says one of them.
   */
  audit: (target: AuditTarget | null) => void;
  /** Writes the audit event in the transaction of an operation that has its own; null: this caller leaves none. */
  auditIn: WriteAudit | null;
  /** Is done after the route's transaction has committed and before its reply; not at all after a rollback. */
  onCommit: (follow: () => void) => void;
  /** What the route's `prepare` gave. */
  prepared: R;
};

type OfEnvironment = { kind: "environment"; permission: EnvironmentPermission };
/** What an operation needs of the call of a route with a transaction: of an environment, mostly. */
export type ChangeCall<A extends Access = OfEnvironment> = Pick<
  Call<A, undefined, undefined, undefined, "required">,
  "tx" | "server" | "scope" | "audit" | "onCommit"
>;

/** A list is one header line each: `set-cookie`. */
export type ReplyHeaders = Record<string, string | string[]>;

/** A reply as it was stored under the request's key, now or by an earlier request. */
export type KeptReply = { status: number; json: string; headers: ReplyHeaders; replayed: boolean };

/** Text that is already JSON. */
export type JsonReply = { status: number; json: string; headers?: ReplyHeaders };

/** `json` is text that is already JSON, for hot answers; `events` are feeds of SSE frames; `bytes` is a raw body. */
export type Reply =
  | { status: number; body: unknown; headers?: ReplyHeaders }
  | JsonReply
  | { status: 200; events: Followed }
  | {
      status: number;
      bytes: Uint8Array | AsyncIterable<Uint8Array>;
      contentType: string;
      headers?: ReplyHeaders;
    };

/** What was done stays done, and the caller is refused all the same: a token that was found to be overdue is expired now. */
export type Refusal = { refusal: DomainError };

/** Of a route with a transaction: the reply is made once what was done is durable, after a wait for what others make of it. */
export type LaterReply = { afterCommit: () => Promise<Reply> };

export type Definition<
  A extends Access,
  P extends Declared,
  Q extends TSchema | undefined,
  B extends TSchema | undefined,
  T extends Transaction,
  R = undefined,
> = {
  method: Method;
  summary: string;
  description?: string;
  tag: string;
  access: A;
  params?: P;
  query?: Q;
  body?: B;
  /**
   * The body is bytes and stays out of validation: a stream of the media type, or of any type (see
   * `any-body.ts`) a Buffer, which is undefined when there is no body, or with `isStream` a stream too.
   */
  rawBody?: {
    bodyLimitBytes: number;
    mediaType: string;
    isStream?: true;
    /** What a JSON body may be instead; the handler is then given the object. */
    orJson?: TSchema;
  };
  bodyLimitBytes?: number;
  /** A list of the body whose items are answered each on its own: what is no I-JSON is given to the handler as `oddItems`. */
  separateItems?: string;
  /** Response schema by status; see `refusals` for errors. */
  responses: Record<number, { description: string; schema?: TSchema; mediaType?: string }>;
  /** Statuses of refusals that nothing else of the route tells; the rest are added by the registry. */
  refusals?: readonly number[];
  /** Example bodies for the document, checked against the schemas by a test. */
  examples?: { request?: unknown; response?: unknown };
  /**
   * Somebody becomes known by it, so each address may call it a few times a minute, counted exactly over all servers:
   * `poll` and `mint` more often, because devices ask again and again and fleets of workers start at once.
   */
  signIn?: "login" | "poll" | "mint";
  /**
   * It speaks as OAuth does (RFC 6749): its body may be a form, fields that it does not know are ignored, and its refusals
   * have OAuth's form. Says what a body of the wrong shape is called.
   */
  oauth?: "invalid_request" | "invalid_client_metadata";
  /** Clients that a person has connected may call it, and its refusals say how one is connected. */
  connects?: true;
  /** Requests that stay open, where not all of them do: they end when their caller loses the right to them. */
  isWatchedFor?(body: Part<B>): boolean;
  /** A worker calls it all the time, whether there is work or not: it says nothing of how busy the server is. */
  keepsAlive?: true;
  /** Pages of any origin may call it; absent: only the console's own. */
  cors?: "any-origin";
  /**
   * What the handler needs of elsewhere, such as the store of bytes or another site: nothing is waited for in a transaction
   * but the database.
   */
  prepare?(call: Call<A, P, Q, B>): Promise<R>;
  /** What the handler is run in. */
  transaction?: T;
  /**
   * Where the first reply to a key is stored: with what the handler does, in the route's transaction, or by the operation
   * itself. Absent: the route takes no key.
   */
  idempotency?: "own" | StoredReply<A, P, B>;
  /** Of a route that changes something: a test refuses one that says nothing. */
  audit?: AuditDeclaration;
  handle(call: Call<A, P, Q, B, T, R>): Promise<Reply | Refusal | LaterReply>;
  /** Of a route that stores its reply: what follows when it is durable, such as a wait. */
  afterCommit?(call: Call<A, P, Q, B>, reply: KeptReply): Promise<Reply>;
};

type StoredReply<A extends Access, P, B> = {
  /** The operation under which keys are kept apart, such as `deployments.create`. */
  stored: string;
  /** What the operation is done in, where keys are kept apart by that too. */
  within?(call: Call<A, P, undefined, B>): string;
  /** What a repeat must have in common with the first request, where that is not the body. */
  content?(call: Call<A, P, undefined, B>): unknown;
};

export type Declared = Params | undefined;
type Unknown = Definition<Access, Declared, TSchema | undefined, TSchema | undefined, Transaction, unknown>;

/** A route where it is served: one of what `placed` makes of a definition. */
export type Route = Unknown & {
  family: Family;
  /** Fastify syntax: `/v1/runs/:id`. */
  path: string;
  /** OpenAPI operation id, camelCase, unique: `getRun`. */
  operationId: string;
};

/** Where a definition is served: `path` is without what all paths of a place begin with. */
export type Placing = {
  in: readonly Place[];
  /** The operation's name where it is in one place alone; see `placed`. */
  name: string;
  path: string;
};
/** A route as it is written. */
export type RouteDefinition = Unknown & Placing;

/** Gives a literal route its precise types and forgets them again for the registry. */
export const route = <
  const A extends Access,
  P extends Declared = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
  T extends Transaction = undefined,
  R = undefined,
>(
  definition: Definition<A, P, Q, B, T, R> & Placing,
): RouteDefinition => definition;
