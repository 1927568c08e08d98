import { createActorsApi, type ActorsApi } from "./actors.ts";
import { resolveAccess } from "./access.ts";
import { resolveConfig, type ClientOptions } from "./config.ts";
import { createDevicesApi, type DevicesApi } from "./devices.ts";
import { createDeploymentsApi, type DeploymentsApi } from "./deployments.ts";
import { createPublicAccessTokensApi, type PublicAccessTokensApi } from "./public-access-tokens.ts";
import { createRunsApi, type RunsApi } from "./runs.ts";
import { createSandboxesApi, type SandboxesApi } from "./sandboxes.ts";
import { createErrorGroupsApi, type ErrorGroupsApi } from "./error-groups.ts";
import { createSchedulesApi, type SchedulesApi } from "./schedules.ts";
import { createSecretsApi, type SecretsApi } from "./secrets.ts";
import { createSessionsApi, type SessionsApi } from "./sessions.ts";
import { createTasksApi, type TasksApi } from "./tasks.ts";
import {
  createAuditEventsApi,
  createWorkersApi,
  type AuditEventsApi,
  type WorkersApi,
} from "./installation.ts";
import {
  createAccountApi,
  createInvitationsApi,
  createMembersApi,
  type AccountApi,
  type InvitationsApi,
  type MembersApi,
} from "./organizations.ts";
import {
  createApiKeysApi,
  createEnvironmentsApi,
  createProjectsApi,
  type ApiKeysApi,
  type EnvironmentsApi,
  type ProjectsApi,
} from "./projects.ts";
import type { ApiRequest } from "./exchange.ts";
import { createTokensApi, type TokensApi } from "./tokens.ts";
import { createWorkspacesApi, type WorkspacesApi } from "./workspaces.ts";
import { createTransport, type Transport } from "./transport.ts";

/**
 * Calls a Keelson server with an API key, which belongs to one environment, or as a run: in a run, a client without
 * `url` and `apiKey` uses the run's own credential. Results have camelCase fields; your own JSON is unchanged. `apiKey`
 * also takes the token of a person's session, which projects, environments, keys, members and invitations need, or an
 * admin key, which workers and audit events need. Every failed request rejects with an ApiError, whose class depends on
 * the status. An aborted `signal` rejects with its reason.
 */
export class Client {
  /** Tasks of the current deployment, and their starts. */
  readonly tasks: TasksApi;
  /** Actors of the current deployment, and their starts. */
  readonly actors: ActorsApi;
  /** Runs, their events and their logs. */
  readonly runs: RunsApi;
  /** Failed runs, grouped by what failed. */
  readonly errorGroups: ErrorGroupsApi;
  /** Sessions and their streams. */
  readonly sessions: SessionsApi;
  /** Completion tokens. */
  readonly tokens: TokensApi;
  /** Credentials for web pages. */
  readonly publicAccessTokens: PublicAccessTokensApi;
  /** Versions of the environment's code. */
  readonly deployments: DeploymentsApi;
  /** Schedules. */
  readonly schedules: SchedulesApi;
  /** Secrets of the environment; their values can be written and never read. */
  readonly secrets: SecretsApi;
  /** Workspaces, their files, commands and terminals. */
  readonly workspaces: WorkspacesApi;
  /** Sandboxes of the current deployment. */
  readonly sandboxes: SandboxesApi;
  /** The person who is signed in. */
  readonly account: AccountApi;
  /** Sign-ins of programs without a browser. */
  readonly devices: DevicesApi;
  /** Projects of an organization. */
  readonly projects: ProjectsApi;
  /** Environments of a project. */
  readonly environments: EnvironmentsApi;
  /** API keys of an environment. */
  readonly apiKeys: ApiKeysApi;
  /** Members of an organization. */
  readonly members: MembersApi;
  /** Invitations to an organization. */
  readonly invitations: InvitationsApi;
  /** Workers of the installation. */
  readonly workers: WorkersApi;
  /** The audit log of the installation and its organizations. */
  readonly auditEvents: AuditEventsApi;
  readonly #transport: Transport;

  /**
   * Throws a UsageError when neither the options nor the environment have the URL or the API key. On a worker, the first
   * request outside of a run throws it.
   */
  constructor(options: ClientOptions = {}) {
    const { find, owner } = resolveAccess(options);
    const transport = createTransport(resolveConfig(options), { renewable: false, get: find, owner });
    this.#transport = transport;
    this.tasks = createTasksApi(transport);
    this.actors = createActorsApi(transport);
    this.runs = createRunsApi(transport);
    this.errorGroups = createErrorGroupsApi(transport);
    this.sessions = createSessionsApi(transport);
    this.tokens = createTokensApi(transport);
    this.publicAccessTokens = createPublicAccessTokensApi(transport);
    this.deployments = createDeploymentsApi(transport);
    this.schedules = createSchedulesApi(transport);
    this.secrets = createSecretsApi(transport);
    this.workspaces = createWorkspacesApi(transport);
    this.sandboxes = createSandboxesApi(transport);
    this.account = createAccountApi(transport);
    this.devices = createDevicesApi(transport);
    this.projects = createProjectsApi(transport);
    this.environments = createEnvironmentsApi(transport);
    this.apiKeys = createApiKeysApi(transport);
    this.members = createMembersApi(transport);
    this.invitations = createInvitationsApi(transport);
    this.workers = createWorkersApi(transport);
    this.auditEvents = createAuditEventsApi(transport);
  }

  /**
   * Calls a route that has no method of its own here, with the client's credential, retries and errors. `T` is its
   * answer, as the wire spells it.
   */
  request<T>(request: ApiRequest): Promise<T> {
    return this.#transport.request(request) as Promise<T>;
  }
}
