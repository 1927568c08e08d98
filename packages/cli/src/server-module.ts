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
  close(): Promise<void>;
};

type ServerConfig = { databaseUrl?: string | undefined; dataDir: string };

type ServerModule = {
  /** Throws a ConfigError that names the setting. */
  loadConfig(env: Readonly<Record<string, string | undefined>>): ServerConfig;
  startServer(config: ServerConfig & { databaseUrl: string }): Promise<StartedServer>;
  startEmbeddedServer(options: { dataDir: string; log?: (message: string) => void }): Promise<{ url: string; stop(): Promise<void> }>;
  migrate(databaseUrl: string, options?: { onApplied?: (name: string) => void }): Promise<string[]>;
};

type AgentModule = {
  loadConfig(env: Readonly<Record<string, string | undefined>>): object;
  /** `ended` settles when the agent has stopped; `close` drains it. */
  startAgent(config: object): Promise<{ close(): Promise<void>; ended: Promise<void> }>;
};

export const loadServer = async (): Promise<ServerModule> => (await import("@keelson/server")) as unknown as ServerModule;
export const loadAgent = async (): Promise<AgentModule> => (await import("@keelson/agent")) as unknown as AgentModule;
