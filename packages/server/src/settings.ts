/**
 * The environment variables of the server. docs/reference/configuration.md is generated from this table; `config.ts` reads
 * them. `byDefault` is what an unset one means, null when that takes words.
 */
export type Setting = { name: string; byDefault: string | null; description: string; secret?: true };

/** The table that docs/reference/configuration.md is generated from. */
export const SETTINGS = {
  host: { name: "HOST", byDefault: "127.0.0.1", description: "Address to listen on." },
  port: { name: "PORT", byDefault: "4400", description: "Port to listen on; 0 takes a free one." },
  databaseUrl: {
    name: "DATABASE_URL",
    byDefault: null,
    description: "PostgreSQL 15 or later. Without it an embedded PostgreSQL runs in the data folder.",
    secret: true,
  },
  databaseDirectUrl: {
    name: "DATABASE_DIRECT_URL",
    byDefault: null,
    description: "The same database past a pooler, for LISTEN and migrations. Default: DATABASE_URL.",
    secret: true,
  },
  databaseWait: {
    name: "KEELSON_DATABASE_WAIT",
    byDefault: "5m",
    description:
      "How long a server that starts waits for a PostgreSQL that cannot be reached yet, 0s to 24h. After that it exits, and its supervisor starts it again.",
  },
  poolSize: {
    name: "KEELSON_POOL_SIZE",
    byDefault: "12",
    description: "Connections to PostgreSQL, 2 to 200.",
  },
  statementNames: {
    name: "KEELSON_STATEMENT_NAMES",
    byDefault: "on",
    description: "`off` behind a pooler that does not keep prepared statements.",
  },
  dataDir: {
    name: "KEELSON_DATA_DIR",
    byDefault: ".keelson",
    description: "Folder of the embedded database, bundles, credentials and caches.",
  },
  s3Bucket: {
    name: "S3_BUCKET",
    byDefault: null,
    description:
      "Bucket for bundles and the files of workspaces, in any S3-compatible store. Without it they are in the data folder, which all servers must then share.",
  },
  s3Endpoint: {
    name: "S3_ENDPOINT",
    byDefault: null,
    description:
      "URL of a store other than AWS, such as `http://minio:9000`; buckets are then part of the path.",
  },
  s3Region: {
    name: "S3_REGION",
    byDefault: null,
    description: "Region of the bucket. Default: `AWS_REGION`, else `us-east-1`.",
  },
  s3Prefix: {
    name: "S3_PREFIX",
    byDefault: null,
    description: "Prefix of all object keys, such as `keelson/production`.",
  },
  awsAccessKeyId: {
    name: "AWS_ACCESS_KEY_ID",
    byDefault: null,
    description:
      "Credentials of the bucket. Without them they are looked for as AWS tools do: profile, web identity, container, instance.",
    secret: true,
  },
  awsSecretAccessKey: {
    name: "AWS_SECRET_ACCESS_KEY",
    byDefault: null,
    description: "Belongs to the access key.",
    secret: true,
  },
  awsSessionToken: {
    name: "AWS_SESSION_TOKEN",
    byDefault: null,
    description: "Belongs to temporary credentials.",
    secret: true,
  },
  publicUrl: {
    name: "PUBLIC_URL",
    byDefault: null,
    description:
      "The address under which callers reach the server, without a path. Set it unless the server is used from its own machine alone: without it the console can change things only under a loopback host.",
  },
  leaseDuration: {
    name: "KEELSON_LEASE_DURATION",
    byDefault: "15s",
    description: "How long a silent worker keeps its runs, 6s to 300s.",
  },
  masterKey: {
    name: "KEELSON_MASTER_KEY",
    byDefault: null,
    description:
      "32 bytes in base64, the same on all servers of one database. Default: `master.key` in the data folder, made at the first start. Keep a copy: without it, secrets cannot be read.",
    secret: true,
  },
  cell: {
    name: "KEELSON_CELL",
    byDefault: null,
    description:
      "The tag of this installation when it is one of several cells behind `keelson router`: 2 to 8 lower-case letters and digits, the first one a letter, such as `eu1`. New credentials carry it. It is kept in the database from the first start with it and cannot be changed. Default: the tag in the database, if there is one.",
  },
  credentials: {
    name: "KEELSON_CREDENTIALS",
    byDefault: null,
    description:
      "The first credentials as JSON, made by `keelson credentials`, for servers without a common data folder. Default: `credentials.json` in the data folder, made at the first start.",
    secret: true,
  },
  parkAfter: {
    name: "KEELSON_PARK_AFTER",
    byDefault: "30s",
    description: "How long a waiting run keeps its process before it is suspended, 0s to 1h.",
  },
  drainDelay: {
    name: "KEELSON_DRAIN_DELAY",
    byDefault: "0s",
    description:
      "How long a server that was told to stop goes on taking requests, while `/readyz` answers 503, 0s to 5m. Behind a load balancer: a little more than it needs to notice.",
  },
  workspaceIdle: {
    name: "KEELSON_WORKSPACE_IDLE",
    byDefault: "10m",
    description: "How long a live workspace in which nothing happens stays on its machine, 10s to 24h.",
  },
  keepRuns: {
    name: "KEELSON_KEEP_RUNS",
    byDefault: "30d",
    description:
      "How long ended runs are kept, with their journals and waits; those of a session stay as long as it. Of these settings each is 1h to 3650d, or `never` for never dropping.",
  },
  keepEvents: {
    name: "KEELSON_KEEP_EVENTS",
    byDefault: "30d",
    description: "How long the events of ended runs are kept, if not as long as the run.",
  },
  keepLogs: {
    name: "KEELSON_KEEP_LOGS",
    byDefault: "30d",
    description: "How long the logs of ended runs are kept, if not as long as the run.",
  },
  packLogsAfter: {
    name: "KEELSON_PACK_LOGS_AFTER",
    byDefault: "1h",
    description:
      "How long after a run's end its logs, if they are large, are moved from the database into a compressed blob, or `never`.",
  },
  packRecordsAfter: {
    name: "KEELSON_PACK_RECORDS_AFTER",
    byDefault: "1h",
    description:
      "How old records of output streams are when they are compressed, a thousand together. Readers see no difference. Or `never`.",
  },
  keepSessions: {
    name: "KEELSON_KEEP_SESSIONS",
    byDefault: "90d",
    description: "How long ended sessions are kept.",
  },
  keepRecords: {
    name: "KEELSON_KEEP_RECORDS",
    byDefault: "90d",
    description: "How long the records of ended sessions are kept, if not as long as the session.",
  },
  keepTokens: {
    name: "KEELSON_KEEP_TOKENS",
    byDefault: "30d",
    description: "How long completed, cancelled and expired tokens are kept.",
  },
  keepOccurrences: {
    name: "KEELSON_KEEP_OCCURRENCES",
    byDefault: "90d",
    description: "How long the due times of schedules are kept in their ledger.",
  },
  keepOutput: {
    name: "KEELSON_KEEP_OUTPUT",
    byDefault: "7d",
    description: "How long the output of ended execs and PTYs is kept.",
  },
  keepProcesses: {
    name: "KEELSON_KEEP_PROCESSES",
    byDefault: "90d",
    description:
      "How long ended execs and PTYs are kept, if not as long as their workspace. Keelson never drops those of a live run.",
  },
  keepRunWorkspaces: {
    name: "KEELSON_KEEP_RUN_WORKSPACES",
    byDefault: "30d",
    description:
      "How long a workspace that Keelson created for a run is kept after its last use. Keelson never deletes one that a start names or that somebody changed.",
  },
  keepVersions: {
    name: "KEELSON_KEEP_VERSIONS",
    byDefault: "30d",
    description:
      "How long versions of workspaces are kept. Keelson never drops the current one, the newest ones, and those that a fork or a sandbox uses.",
  },
  keepDeployments: {
    name: "KEELSON_KEEP_DEPLOYMENTS",
    byDefault: "90d",
    description:
      "How long deployments are kept after they were last current. Keelson never drops the current one, the newest 10 ready ones of an environment, and those that a live run or an open session uses.",
  },
  keepVersionCount: {
    name: "KEELSON_KEEP_VERSION_COUNT",
    byDefault: "20",
    description: "How many of the newest versions of a workspace are kept however old, 1 to 10000.",
  },
  rateLimit: {
    name: "KEELSON_RATE_LIMIT",
    byDefault: "0",
    description:
      "Requests per second for each credential over all servers, in windows of 10 seconds, workers aside; the runs of an environment count as one. 0 is unlimited.",
  },
  addressRateLimit: {
    name: "KEELSON_ADDRESS_RATE_LIMIT",
    byDefault: "1000",
    description:
      "The same limit for each address, for requests without a valid credential, including callbacks of providers.",
  },
  failureLimit: {
    name: "KEELSON_FAILED_AUTHENTICATION_LIMIT",
    byDefault: "300",
    description:
      "Credentials that are not valid, per minute for each address over all servers; 0 is unlimited.",
  },
  loginLimit: {
    name: "KEELSON_LOGIN_RATE_LIMIT",
    byDefault: "60",
    description:
      "Requests that sign somebody in, per minute for each address over all servers; ten times as many for devices that ask for their token, and for tokens of workers. 0 is unlimited.",
  },
  liveRuns: {
    name: "KEELSON_MAX_LIVE_RUNS",
    byDefault: "1000000",
    description: "Runs that have not ended, in each environment without a quota of its own; 0 is unlimited.",
  },
  eventStreams: {
    name: "KEELSON_MAX_EVENT_STREAMS",
    byDefault: "1000",
    description: "Open event streams of each environment without a quota of its own. 0 is unlimited.",
  },
  storedMebibytes: {
    name: "KEELSON_MAX_STORED_MIB",
    byDefault: "0",
    description:
      "Mebibytes of files, bundles, stream records and logs of each environment without a quota of its own. 0 is unlimited.",
  },
  addressConnections: {
    name: "KEELSON_ADDRESS_CONNECTIONS",
    byDefault: "256",
    description:
      "Limit of open connections without a valid credential, for each address. Above it, the server closes the oldest idle ones. Trusted proxies are exempt. 0 is unlimited.",
  },
  trustedProxies: {
    name: "KEELSON_TRUSTED_PROXIES",
    byDefault: null,
    description:
      "Addresses and networks of trusted proxies, separated by commas: `10.0.0.0/8, 2001:db8::7`. The server reads `X-Forwarded-For` only from these.",
  },
  smtpUrl: {
    name: "SMTP_URL",
    byDefault: null,
    description:
      "Server for mails, `smtp://user:password@host:587`. Without it sign-in links and invitations are shown on the server's terminal; a server without a terminal keeps them in the folder `mail` of its data folder, for its own account alone.",
    secret: true,
  },
  mailFrom: {
    name: "KEELSON_MAIL_FROM",
    byDefault: "Keelson <keelson@localhost>",
    description: "Sender of mails.",
  },
  githubClientId: {
    name: "GITHUB_CLIENT_ID",
    byDefault: null,
    description:
      "OAuth app for sign-in with GitHub; its callback is `<PUBLIC_URL>/api/auth/github/finish`. Without it, sign-in with GitHub is off.",
  },
  githubClientSecret: {
    name: "GITHUB_CLIENT_SECRET",
    byDefault: null,
    description: "The OAuth app's secret.",
    secret: true,
  },
  githubUrl: {
    name: "KEELSON_GITHUB_URL",
    byDefault: "https://github.com",
    description: "Where people sign in: GitHub, or a GitHub Enterprise server.",
  },
  githubApiUrl: {
    name: "KEELSON_GITHUB_API_URL",
    byDefault: "https://api.github.com",
    description: "The API of the same.",
  },
  logLevel: {
    name: "KEELSON_LOG_LEVEL",
    byDefault: "info",
    description: "`debug`, `info`, `warn`, `error` or `silent`.",
  },
} as const satisfies Record<string, Setting>;

/** Settings of former versions, and what to do without them. */
export const REMOVED: Readonly<Record<string, string>> = {
  KEELSON_SHARED_RATE: "Environments share the server without a rate.",
};

/** Names that other parts read: known here so that a misspelt name is told from them. */
export const OTHERS = [
  "KEELSON_URL",
  "KEELSON_API_KEY",
  "KEELSON_USER_TOKEN",
  "KEELSON_ADMIN_KEY",
  "KEELSON_ENROLLMENT_TOKEN",
  "KEELSON_AGENT_NAME",
  "KEELSON_AGENT_CAPACITY",
  "KEELSON_AGENT_WORKSPACES",
  "KEELSON_TASK_ENV",
  "KEELSON_NEW_MASTER_KEY",
  "KEELSON_TEST_DATABASE_URL",
  "KEELSON_TEST_LONG",
  "KEELSON_TEST_MEMORY",
  "KEELSON_TEST_PATIENCE",
  "KEELSON_TEST_SEED",
];
