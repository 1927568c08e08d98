type Setting = { name: string; byDefault: string | null; description: string; secret?: true };

/** The agent's part of docs/reference/configuration.md is generated from this table. */
export const AGENT_SETTINGS = {
  url: {
    name: "KEELSON_URL",
    byDefault: null,
    description: "URL of the server, or of the load balancer. Required.",
  },
  enrollmentToken: {
    name: "KEELSON_ENROLLMENT_TOKEN",
    byDefault: null,
    description: "Lets a new worker register; it is never given to tasks. Required.",
    secret: true,
  },
  name: {
    name: "KEELSON_AGENT_NAME",
    byDefault: null,
    description: "Shown to operators. Default: the machine's name.",
  },
  capacity: {
    name: "KEELSON_AGENT_CAPACITY",
    byDefault: "16",
    description: "Runs at once, 1 to 100000.",
  },
  workspaces: {
    name: "KEELSON_AGENT_WORKSPACES",
    byDefault: "8",
    description: "Workspaces that are live at once, 0 to 100000; 0 takes none.",
  },
  workspaceDiskMebibytes: {
    name: "KEELSON_AGENT_WORKSPACE_DISK_MIB",
    byDefault: "32768",
    description:
      "Mebibytes that the files of one workspace may take on the worker's disk, 1 to 1000000000. Over it, the command that wrote the most is ended, and new ones can delete files but write none.",
  },
  bundleCacheMebibytes: {
    name: "KEELSON_AGENT_BUNDLE_CACHE_MIB",
    byDefault: "5120",
    description:
      "Mebibytes that bundles may take in the data folder, 1 to 1000000000. Over it, the worker evicts the least recently used. It never evicts a bundle in use, and fetches an evicted one again when a run needs it.",
  },
  bundleCacheDays: {
    name: "KEELSON_AGENT_BUNDLE_CACHE_DAYS",
    byDefault: "30",
    description: "Days after which the worker evicts an unused bundle, 1 to 100000.",
  },
  metricsPort: {
    name: "KEELSON_AGENT_METRICS_PORT",
    byDefault: null,
    description:
      "Port of `/metrics` for Prometheus, 1 to 65535, or 0 for any free one, which the log names. Without it, the agent serves no metrics.",
  },
  metricsHost: {
    name: "KEELSON_AGENT_METRICS_HOST",
    byDefault: "127.0.0.1",
    description:
      "Address that `/metrics` of the agent listens on. It needs no credential, so let only Prometheus reach it.",
  },
  taskEnvironment: {
    name: "KEELSON_TASK_ENV",
    byDefault: null,
    description:
      "Names of variables, with commas, that tasks see besides PATH, HOME, LANG, LC_*, TZ, NODE_ENV, KEELSON_WORKER_DIR and a TMPDIR of each process (and a HOME of each, where tasks have users of their own). Runs need no KEELSON_API_KEY: each has a credential of its own.",
  },
  dataDir: {
    name: "KEELSON_DATA_DIR",
    byDefault: ".keelson",
    description:
      "Folder for cached bundles and blobs, live workspaces, the working and temporary folders of tasks, and the uid of each environment. Committed files are not lost without it.",
  },
  logLevel: {
    name: "KEELSON_LOG_LEVEL",
    byDefault: "info",
    description: "`debug`, `info`, `warn`, `error` or `silent`.",
  },
} as const satisfies Record<string, Setting>;
