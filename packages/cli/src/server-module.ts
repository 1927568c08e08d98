import type { Logger } from "pino";

/** What the commands use of the server's and the agent's packages. */

export type StartedServer = {
  url: string;
  credentials: {
    url: string;
    project_id: string;
    environment_id: string;
    api_key: string;
    user_token: string;
    admin_key: string;
    capacity_key: string;
    enrollment_token: string;
  };
  close: () => Promise<void>;
};

type Environment = Readonly<Record<string, string | undefined>>;

type ServerConfig = { databaseUrl?: string | undefined; dataDir: string };

type ServerModule = {
  /** Throws a ConfigError that names the setting. */
  loadConfig: (env: Environment) => ServerConfig;
  startServer: (config: ServerConfig & { databaseUrl: string }) => Promise<StartedServer>;
  startEmbeddedServer: (options: {
    dataDir: string;
    log?: (message: string) => void;
  }) => Promise<{ url: string; stop: () => Promise<void> }>;
  migrate: (databaseUrl: string, options?: { onApplied?: (name: string) => void }) => Promise<string[]>;
};

type AgentConfig = { logLevel: string };

type AgentModule = {
  /** Throws a ConfigError that names the setting. */
  parseAgentConfig: (env: Environment, readText: (path: string) => string) => AgentConfig;
  startAgent: (
    options: AgentConfig & { version: string; logger: Logger; signal: AbortSignal },
  ) => Promise<{ drain: () => Promise<void>; stop: () => Promise<void> }>;
};

export const loadServer = async (): Promise<ServerModule> =>
  (await import("@keelson/server")) as unknown as ServerModule;
export const loadAgent = async (): Promise<AgentModule> =>
  (await import("@keelson/agent")) as unknown as AgentModule;
