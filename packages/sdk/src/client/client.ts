import { createActorsApi, type ActorsApi } from "./actors.ts";
import { resolveConfig, type ClientOptions } from "./config.ts";
import { createDeploymentsApi, type DeploymentsApi } from "./deployments.ts";
import { createPublicAccessTokensApi, type PublicAccessTokensApi } from "./public-access-tokens.ts";
import { createRunsApi, type RunsApi } from "./runs.ts";
import { createSandboxesApi, type SandboxesApi } from "./sandboxes.ts";
import { createSchedulesApi, type SchedulesApi } from "./schedules.ts";
import { createSecretsApi, type SecretsApi } from "./secrets.ts";
import { createSessionsApi, type SessionsApi } from "./sessions.ts";
import { createTasksApi, type TasksApi } from "./tasks.ts";
import type { ApiRequest } from "./exchange.ts";
import { createTokensApi, type TokensApi } from "./tokens.ts";
import { createWorkspacesApi, type WorkspacesApi } from "./workspaces.ts";
import { createTransport, type Transport } from "./transport.ts";

/**
 * Calls a Keelson server with an API key, which is bound to one environment. Responses are the wire's objects.
 * Every failure is a KeelsonError of the class of its status; an aborted `signal` rejects with its reason.
 */
export class Client {
  /** Tasks of the current deployment, and their starts. */
  readonly tasks: TasksApi;
  /** Actors of the current deployment, and their starts. */
  readonly actors: ActorsApi;
  /** Runs, their events and their logs. */
  readonly runs: RunsApi;
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
  readonly #transport: Transport;

  /** Throws a TypeError when the URL or the API key is neither given nor in the environment. */
  constructor(options: ClientOptions = {}) {
    const transport = createTransport(resolveConfig(options));
    this.#transport = transport;
    this.tasks = createTasksApi(transport);
    this.actors = createActorsApi(transport);
    this.runs = createRunsApi(transport);
    this.sessions = createSessionsApi(transport);
    this.tokens = createTokensApi(transport);
    this.publicAccessTokens = createPublicAccessTokensApi(transport);
    this.deployments = createDeploymentsApi(transport);
    this.schedules = createSchedulesApi(transport);
    this.secrets = createSecretsApi(transport);
    this.workspaces = createWorkspacesApi(transport);
    this.sandboxes = createSandboxesApi(transport);
  }

  /** Calls a route that has no method of its own here, with the client's credential, retries and errors. `T` is its answer. */
  request<T>(request: ApiRequest): Promise<T> {
    return this.#transport.request<T>(request);
  }
}
