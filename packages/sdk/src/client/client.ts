import { resolveConfig, type ClientOptions } from "./config.ts";
import { createDeploymentsApi, type DeploymentsApi } from "./deployments.ts";
import { createRunsApi, type RunsApi } from "./runs.ts";
import { createTasksApi, type TasksApi } from "./tasks.ts";
import { createTransport } from "./transport.ts";

/**
 * Calls a Keelson server with an API key, which is bound to one environment. Responses are the wire's objects.
 * Every failure is a KeelsonError of the class of its status; an aborted `signal` rejects with its reason.
 */
export class Client {
  readonly tasks: TasksApi;
  readonly runs: RunsApi;
  readonly deployments: DeploymentsApi;

  /** Throws a TypeError when the URL or the API key is neither given nor in the environment. */
  constructor(options: ClientOptions = {}) {
    const transport = createTransport(resolveConfig(options));
    this.tasks = createTasksApi(transport);
    this.runs = createRunsApi(transport);
    this.deployments = createDeploymentsApi(transport);
  }
}

/** The bytes of a log chunk or snapshot. */
export const decodeBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
