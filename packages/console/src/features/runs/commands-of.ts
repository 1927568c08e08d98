import type { Run } from "@keelson/contract";
import { toRunQuery, type RunFilters } from "./run-filters.ts";
import type { RunTab } from "./run-search.ts";

/** The same by `curl` and by the command line; null where the command line has no such thing. */
export type Commands = { curl: string; keelson: string | null };

/** One word of a shell, whatever is in it. */
export const shellWord = (text: string): string =>
  /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Pasted into a terminal, these are not text: a line's end runs what stands before it. */
// oxlint-disable-next-line no-control-regex
const hasControls = (text: string): boolean => /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);

const curlOf = (address: string, ...more: string[]): string =>
  [`curl -sS ${shellWord(address)}`, `-H "Authorization: Bearer $KEELSON_API_KEY"`, ...more].join(" \\\n  ");

const keelsonOf = (...words: string[]): string | null =>
  words.some(hasControls) ? null : ["keelson", ...words.map(shellWord)].join(" ");

export function runsCommands(filters: RunFilters, origin: string, nowMs: number): Commands {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(toRunQuery(filters, nowMs)))
    for (const one of typeof value === "string" ? [value] : (value ?? [])) search.append(name, one);
  const query = search.toString();
  const { status = [], task, tag = [], ...others } = filters;
  const hasMore = Object.keys(others).length > 0 || tag.length > 1;
  const words = [
    ...status.flatMap((one) => ["--status", one]),
    ...(task === undefined ? [] : ["--task", task]),
    ...tag.flatMap((one) => ["--tag", one]),
  ];
  return {
    curl: curlOf(`${origin}/v1/runs${query === "" ? "" : `?${query}`}`),
    keelson: hasMore ? null : keelsonOf("run", "list", ...words),
  };
}

export function runCommands(runId: string, tab: RunTab, origin: string): Commands {
  const item = `${origin}/v1/runs/${runId}`;
  switch (tab) {
    case "timeline":
    case "events":
      return { curl: curlOf(`${item}/events?limit=200`), keelson: keelsonOf("run", "events", runId) };
    case "logs":
      return { curl: curlOf(`${item}/logs?limit=200`), keelson: keelsonOf("run", "logs", runId) };
    case "data":
      return { curl: curlOf(item), keelson: keelsonOf("run", "get", runId) };
  }
}

/** Starts what the run was of, with its payload. */
export function startCommands(run: Run, origin: string): Commands {
  const isTask = run.task !== null;
  const name = run.task ?? run.actor ?? "";
  const body = JSON.stringify(isTask ? { payload: run.payload } : { input: run.payload });
  return {
    curl: curlOf(
      `${origin}/v1/${isTask ? "tasks" : "actors"}/${name}/start`,
      `-H "Content-Type: application/json"`,
      `-d ${shellWord(body)}`,
    ),
    keelson: isTask ? keelsonOf("task", "start", name, "--payload", JSON.stringify(run.payload)) : null,
  };
}
