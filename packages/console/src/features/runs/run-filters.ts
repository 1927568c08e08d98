import { RUN_STATUSES, type RunStatus } from "@keelson/contract/plain";

/** Which runs a list shows, as its address says. */
export type RunFilters = {
  status?: RunStatus[];
  task?: string;
  actor?: string;
  tag?: string[];
  session_id?: string;
  schedule_id?: string;
  parent_run_id?: string;
  error_group_id?: string;
  /** Words and terms, as `parseRunSearch` reads them. */
  search?: string;
  hide?: HiddenRuns[];
  /** Created within this long before the list was opened: a key of `RANGES`. */
  last?: Range;
  created_after?: string;
  created_before?: string;
};

export const HIDDEN_RUNS = ["children", "scheduled"] as const;
export type HiddenRuns = (typeof HIDDEN_RUNS)[number];

export const RANGES = {
  "1h": 3_600_000,
  "24h": 86_400_000,
  "7d": 604_800_000,
  "30d": 2_592_000_000,
} as const;
export type Range = keyof typeof RANGES;

const TEXTS = [
  "search",
  "task",
  "actor",
  "session_id",
  "schedule_id",
  "parent_run_id",
  "error_group_id",
] as const;
const TIMES = ["created_after", "created_before"] as const;

const isStatus = (value: unknown): value is RunStatus => (RUN_STATUSES as readonly unknown[]).includes(value);
const listOf = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** What an address asks for; what makes no sense in it is left out. Numbers were unquoted text. */
export function readRunFilters(search: Record<string, unknown>): RunFilters {
  const filters: RunFilters = {};
  const statuses = [...new Set(listOf(search["status"]).filter(isStatus))];
  if (statuses.length > 0) filters.status = statuses;
  const tags = listOf(search["tag"])
    .map((tag) => String(tag))
    .filter((tag) => tag !== "");
  if (tags.length > 0) filters.tag = [...new Set(tags)];
  for (const name of TEXTS) {
    const value = search[name];
    if ((typeof value === "string" && value !== "") || typeof value === "number")
      filters[name] = String(value);
  }
  const hide = HIDDEN_RUNS.filter((one) => listOf(search["hide"]).includes(one));
  if (hide.length > 0) filters.hide = hide;
  const range = search["last"];
  if (typeof range === "string" && Object.hasOwn(RANGES, range)) filters.last = range as Range;
  for (const name of TIMES) {
    const value = search[name];
    if (typeof value === "string" && Number.isFinite(Date.parse(value)))
      filters[name] = new Date(value).toISOString();
  }
  return filters;
}

export type RunQuery = Omit<RunFilters, "last">;

/** The filters as the routes take them. A range ends when the list is left, and begins `nowMs` minus its length. */
export function toRunQuery({ last, ...filters }: RunFilters, nowMs: number): RunQuery {
  if (last === undefined) return filters;
  return { created_after: new Date(nowMs - RANGES[last]).toISOString(), ...filters };
}

export const hasFilters = (filters: RunFilters): boolean => Object.keys(filters).length > 0;
