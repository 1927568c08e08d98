import type { ApiKey, CreatedApiKey, Environment, Project } from "./resources.ts";
import type { EnvironmentPermission } from "@keelson/contract/plain";
import { toWireDuration, type DurationInput } from "../duration-input.ts";
import type { RequestOptions } from "./exchange.ts";
import { listOf } from "./fetch-page.ts";
import type { InOrganization } from "./organizations.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import type { Transport } from "./transport.ts";
import { apiKeyShape, createdApiKeyShape, environmentShape, projectShape } from "./wire-shapes.ts";

/** The names of projects and environments. */
export type Naming = {
  /** The name that people see. */
  name: string;
  /** The name in commands and addresses. Default: made from the name. */
  slug?: string | undefined;
};

/** The fields of a project or environment that can be changed. */
export type NamingChanges = {
  /** The name that people see. */
  name?: string | undefined;
  /** The name in commands and addresses. */
  slug?: string | undefined;
};

/** Which environment of which project. */
export type EnvironmentTarget = {
  /** The project's id. */
  projectId: string;
  /** The environment's id. */
  environmentId: string;
};

/** The options of a new API key. */
export type NewApiKey = {
  /** The purpose of the key. */
  name: string;
  /** The permissions of the key. Default: all permissions that a key can have. */
  permissions?: readonly EnvironmentPermission[] | undefined;
  /** How long it is valid. Default: forever. */
  expiresIn?: DurationInput | undefined;
};

/** `client.projects`, for people who are signed in. */
export type ProjectsApi = {
  /**
   * The projects of an organization.
   *
   * @example
   * ```ts
   * for await (const project of client.projects.list()) console.log(project.slug);
   * ```
   */
  list(query?: PageQuery & InOrganization, options?: RequestOptions): PagedList<Project>;
  /**
   * By its id.
   *
   * @example
   * ```ts
   * const project = await client.projects.get("proj_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Project>;
  /**
   * Creates a project with the environments development and production.
   *
   * @example
   * ```ts
   * const project = await client.projects.create({ name: "Support" });
   * ```
   */
  create(project: Naming & InOrganization, options?: RequestOptions): Promise<Project>;
  /**
   * Changes the given fields only.
   *
   * @example
   * ```ts
   * await client.projects.update("proj_01k…", { name: "Help desk" });
   * ```
   */
  update(id: string, changes: NamingChanges, options?: RequestOptions): Promise<Project>;
};

/** `client.environments`, for people who are signed in. */
export type EnvironmentsApi = {
  /**
   * The environments of a project.
   *
   * @example
   * ```ts
   * for await (const environment of client.environments.list("proj_01k…")) console.log(environment.slug);
   * ```
   */
  list(projectId: string, query?: PageQuery, options?: RequestOptions): PagedList<Environment>;
  /**
   * Creates an environment in a project.
   *
   * @example
   * ```ts
   * await client.environments.create("proj_01k…", { name: "Staging" });
   * ```
   */
  create(projectId: string, environment: Naming, options?: RequestOptions): Promise<Environment>;
  /**
   * Changes the given fields only.
   *
   * @example
   * ```ts
   * const environment = { projectId: "proj_01k…", environmentId: "env_01k…" };
   * await client.environments.update(environment, { name: "Acceptance" });
   * ```
   */
  update(
    environment: EnvironmentTarget,
    changes: NamingChanges,
    options?: RequestOptions,
  ): Promise<Environment>;
};

/** `client.apiKeys`, for people who are signed in. */
export type ApiKeysApi = {
  /**
   * The API keys of an environment, without their values.
   *
   * @example
   * ```ts
   * const environment = { projectId: "proj_01k…", environmentId: "env_01k…" };
   * for await (const key of client.apiKeys.list(environment)) console.log(key.name);
   * ```
   */
  list(environment: EnvironmentTarget, query?: PageQuery, options?: RequestOptions): PagedList<ApiKey>;
  /**
   * Creates an API key. Only this response has `apiKey`.
   *
   * @example
   * ```ts
   * const environment = { projectId: "proj_01k…", environmentId: "env_01k…" };
   * const { apiKey } = await client.apiKeys.create(environment, { name: "CI", expiresIn: "90d" });
   * ```
   */
  create(environment: EnvironmentTarget, key: NewApiKey, options?: RequestOptions): Promise<CreatedApiKey>;
  /**
   * Revokes the key. The server refuses all later requests with it.
   *
   * @example
   * ```ts
   * await client.apiKeys.revoke({ projectId: "proj_01k…", environmentId: "env_01k…" }, "key_01k…");
   * ```
   */
  revoke(environment: EnvironmentTarget, id: string, options?: RequestOptions): Promise<void>;
};

const projectPath = (id: string): string => `/api/projects/${encodeURIComponent(id)}`;
const environmentPath = ({ projectId, environmentId }: EnvironmentTarget): string =>
  `${projectPath(projectId)}/environments/${encodeURIComponent(environmentId)}`;

export const createProjectsApi = (transport: Transport): ProjectsApi => ({
  list: ({ organizationId, ...query } = {}, options = {}) => {
    const filters = { organization_id: organizationId };
    return listOf(transport, projectShape, "/api/projects", "projects", { ...query, filters }, options);
  },
  get: (id, options = {}) =>
    transport.ask(projectShape, { method: "GET", path: projectPath(id), ...options }),
  create: ({ name, slug, organizationId }, options = {}) => {
    const json = { name, slug, organization_id: organizationId };
    return transport.ask(projectShape, { method: "POST", path: "/api/projects", body: { json }, ...options });
  },
  update: (id, changes, options = {}) =>
    transport.ask(projectShape, {
      method: "PATCH",
      path: projectPath(id),
      body: { json: changes },
      ...options,
    }),
});

export const createEnvironmentsApi = (transport: Transport): EnvironmentsApi => ({
  list: (projectId, query = {}, options = {}) =>
    listOf(
      transport,
      environmentShape,
      `${projectPath(projectId)}/environments`,
      "environments",
      query,
      options,
    ),
  create: (projectId, environment, options = {}) => {
    const path = `${projectPath(projectId)}/environments`;
    return transport.ask(environmentShape, { method: "POST", path, body: { json: environment }, ...options });
  },
  update: (environment, changes, options = {}) => {
    const path = environmentPath(environment);
    return transport.ask(environmentShape, { method: "PATCH", path, body: { json: changes }, ...options });
  },
});

export const createApiKeysApi = (transport: Transport): ApiKeysApi => ({
  list: (environment, query = {}, options = {}) =>
    listOf(transport, apiKeyShape, `${environmentPath(environment)}/api-keys`, "api_keys", query, options),
  create: (environment, { name, permissions, expiresIn }, options = {}) => {
    const json = {
      name,
      permissions,
      ...(expiresIn !== undefined && { expires_in: toWireDuration(expiresIn, "expiresIn") }),
    };
    const path = `${environmentPath(environment)}/api-keys`;
    return transport.ask(createdApiKeyShape, { method: "POST", path, body: { json }, ...options });
  },
  revoke: async (environment, id, options = {}) => {
    const path = `${environmentPath(environment)}/api-keys/${encodeURIComponent(id)}`;
    await transport.request({ method: "DELETE", path, ...options });
  },
});
