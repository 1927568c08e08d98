import { toRunQuery, type RunFilters } from "./run-filters.ts";
import type { RunTab } from "./run-search.ts";
import type { StartRequest } from "./start-request.ts";

/** The same by `curl`, by the command line and by the SDK; null where there is no such thing. */
export type Commands = { curl: string; keelson: string | null; sdk: string | null };

/** One word of a shell, whatever is in it. */
export const shellWord = (text: string): string =>
  /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Pasted into a terminal, these are not text: a line's end runs what stands before it. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const curlOf = (address: string, ...more: string[]): string =>
  [`curl -sS ${shellWord(address)}`, `-H "Authorization: Bearer $KEELSON_API_KEY"`, ...more].join(" \\\n  ");

const keelsonOf = (...words: string[]): string | null =>
  words.some((word) => CONTROLS.test(word)) ? null : ["keelson", ...words.map(shellWord)].join(" ");

/** A value as an expression of TypeScript, with names as people write them; null when it has what is not seen. */
function literal(value: unknown): string | null {
  const text = JSON.stringify(value).replaceAll(
    /"(?:[^"\\]|\\.)*"(:)?|[,{}]/g,
    (part, isName: string | undefined) => {
      if (part === "," || part === "{") return `${part} `;
      if (part === "}") return " }";
      if (isName === undefined) return part;
      const name = part.slice(1, -2);
      return `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : part.slice(0, -1)}: `;
    },
  );
  return CONTROLS.test(text) ? null : text.replaceAll("{  }", "{}");
}

/** A call of the client, whose last arguments may be left out when they are undefined. */
function sdkOf(method: string, ...values: unknown[]): string | null {
  const last = values.findLastIndex((value) => value !== undefined);
  const texts = values
    .slice(0, last + 1)
    .map((value) => (value === undefined ? "undefined" : literal(value)));
  return texts.includes(null) ? null : `client.${method}(${texts.join(", ")})`;
}

const awaited = (call: string | null): string | null => (call === null ? null : `await ${call};`);
const eachOf = (name: string, call: string | null, shown: string): string | null =>
  call === null ? null : `for await (const ${name} of ${call}) console.log(${shown});`;

const camelCased = (options: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
const unlessEmpty = (options: Record<string, unknown>): object | undefined =>
  Object.keys(options).length === 0 ? undefined : options;

export function runsCommands(filters: RunFilters, origin: string, nowMs: number): Commands {
  const search = new URLSearchParams();
  const filtered = Object.entries(toRunQuery(filters, nowMs)).filter(([, value]) => value !== undefined);
  for (const [name, value] of filtered)
    for (const one of typeof value === "string" ? [value] : (value ?? [])) search.append(name, one);
  const query = search.toString();
  const { status = [], task, tag = [], search: searched, hide = [], ...others } = filters;
  const hasMore = Object.keys(others).length > 0 || tag.length > 1;
  const words = [
    ...status.flatMap((one) => ["--status", one]),
    ...(task === undefined ? [] : ["--task", task]),
    ...tag.flatMap((one) => ["--tag", one]),
    ...(searched === undefined ? [] : ["--search", searched]),
    ...hide.map((one) => `--no-${one}`),
  ];
  const sdkQuery = { ...camelCased(Object.fromEntries(filtered)), ...(tag.length > 0 && { tag: tag[0] }) };
  return {
    curl: curlOf(`${origin}/v1/runs${query === "" ? "" : `?${query}`}`),
    keelson: hasMore ? null : keelsonOf("run", "list", ...words),
    // The SDK filters by one tag.
    sdk: tag.length > 1 ? null : eachOf("run", sdkOf("runs.list", unlessEmpty(sdkQuery)), "run.id"),
  };
}

export function runCommands(runId: string, tab: RunTab, origin: string): Commands {
  const item = `${origin}/v1/runs/${runId}`;
  switch (tab) {
    case "timeline":
    case "events":
      return {
        curl: curlOf(`${item}/events?limit=200`),
        keelson: keelsonOf("run", "events", runId),
        sdk: eachOf("event", sdkOf("runs.events", runId), "event.message"),
      };
    case "logs":
      return {
        curl: curlOf(`${item}/logs?limit=200`),
        keelson: keelsonOf("run", "logs", runId),
        sdk: eachOf("chunk", sdkOf("runs.logs", runId), "chunk.data"),
      };
    case "data":
      return {
        curl: curlOf(item),
        keelson: keelsonOf("run", "get", runId),
        sdk: awaited(sdkOf("runs.get", runId)),
      };
  }
}

/** How the command line spells the options of a start that are not their names with dashes. */
const FLAGS: Record<string, string> = { tags: "tag", workspace_id: "workspace" };

const flagsOf = (options: StartRequest["options"]): string[] =>
  Object.entries(options).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((one) => [
      `--${FLAGS[name] ?? name.replaceAll("_", "-")}`,
      String(one),
    ]),
  );

/** Starts it as this request does. */
export function startCommands({ of, payload, options }: StartRequest, origin: string): Commands {
  const [family, name] = "task" in of ? ["task", of.task] : ["actor", of.actor];
  const field = family === "task" ? "payload" : "input";
  const given = payload === undefined ? {} : { [field]: payload };
  return {
    curl: curlOf(
      `${origin}/v1/${family}s/${encodeURIComponent(name)}/start`,
      `-H "Content-Type: application/json"`,
      `-d ${shellWord(JSON.stringify({ ...given, ...options }))}`,
    ),
    keelson: keelsonOf(
      family,
      "start",
      name,
      ...(payload === undefined ? [] : [`--${field}`, JSON.stringify(payload)]),
      ...flagsOf(options),
    ),
    sdk: awaited(sdkOf(`${family}s.start`, name, payload, unlessEmpty(camelCased(options)))),
  };
}
