// The server's settings, given on its command line so that an upgrade of Keelson changes them in an old folder too.

/** Name → value of postgresql.conf. */
export type ServerSettings = Readonly<Record<string, string>>;

// Chosen for a small machine (2 cores) that writes many short transactions, and for little memory when idle.
const DEFAULTS: ServerSettings = {
  // What has been acknowledged survives a crash. Stated, so that an edited postgresql.conf cannot take it away.
  fsync: "on",
  full_page_writes: "on",
  synchronous_commit: "on",

  listen_addresses: "",
  unix_socket_permissions: "0700",
  port: "5432",
  max_connections: "100",
  timezone: "UTC",
  log_timezone: "UTC",

  shared_buffers: "96MB",
  effective_cache_size: "1GB",
  work_mem: "8MB",
  maintenance_work_mem: "64MB",
  random_page_cost: "1.1",
  jit: "off",
  // A transaction that was chosen as the victim is run again: sooner is better than the default second.
  deadlock_timeout: "200ms",
  // Statements here touch few rows; a parallel plan costs two forks and takes the cores from other requests.
  max_parallel_workers_per_gather: "0",
  // The default keeps three processes for reads ahead, and one for replication, which a server of this size never uses.
  io_method: "sync",
  max_logical_replication_workers: "0",

  // No replica can follow the built-in server, so the log holds only what recovery needs.
  wal_level: "minimal",
  max_wal_senders: "0",
  wal_buffers: "16MB",
  min_wal_size: "256MB",
  // Bounds recovery after a crash to a few seconds while keeping full-page images rare.
  max_wal_size: "1GB",
  checkpoint_timeout: "10min",
  checkpoint_completion_target: "0.9",

  // A queue table of few live rows dies thousands of times a minute: vacuum must come by number, soon, and not crawl.
  autovacuum_naptime: "15s",
  autovacuum_max_workers: "2",
  autovacuum_vacuum_scale_factor: "0.05",
  autovacuum_vacuum_cost_limit: "2000",

  // The log is for the server's own state. Errors of statements go to the caller; they would copy users' data here.
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  log_line_prefix: "%m [%p] ",
  update_process_title: "off",
};

/** The command line of a server; `label` becomes its `cluster_name`, by which a later process tells what it runs with. */
export function serverArguments(
  clusterDir: string,
  socketDir: string,
  label: string,
  settings: ServerSettings,
): string[] {
  const all = { ...settings, unix_socket_directories: socketDir, cluster_name: label };
  return ["-D", clusterDir, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

export function mergeSettings(overrides: ServerSettings | undefined): ServerSettings {
  return { ...DEFAULTS, ...overrides };
}
