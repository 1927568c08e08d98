type Setting = { name: string; byDefault: string | null; description: string; secret?: true };

/** The agent's part of docs/reference/configuration.md is generated from this table. */
export const AGENT_SETTINGS = {
  url: {
    name: "KEELSON_URL",
    byDefault: null,
    description: "Address of the server, or of what balances over several. Needed.",
  },
  enrollmentToken: {
    name: "KEELSON_ENROLLMENT_TOKEN",
    byDefault: null,
    description: "Lets a new worker register; it is never given to tasks. Needed.",
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
  taskEnvironment: {
    name: "KEELSON_TASK_ENV",
    byDefault: null,
    description:
      "Names of variables, with commas, that tasks see besides PATH, HOME, LANG, LC_*, TZ, TMPDIR and NODE_ENV.",
  },
  dataDir: {
    name: "KEELSON_DATA_DIR",
    byDefault: ".keelson",
    description:
      "Folder where bundles and blobs are cached and live workspaces are. What is committed is safe without it.",
  },
  logLevel: {
    name: "KEELSON_LOG_LEVEL",
    byDefault: "info",
    description: "`debug`, `info`, `warn`, `error` or `silent`.",
  },
} as const satisfies Record<string, Setting>;
