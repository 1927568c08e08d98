// Answers made from the schemas of the server's routes, in which all that is a user's is poisoned.

import { routes } from "../../../server/src/http/routes.ts";
import { schemaOf, type Schema } from "../../../../scripts/shapes/wire-shapes.ts";

/** A user's JSON that looks like the wire's. */
export const POISON = { created_at: { deployment_id: 1 }, snake_case: [{ run_id: { status_reason: null } }] };

/** Objects in which the server itself writes facts. */
const FACTS = new Set(["details", "attributes"]);

type Described = Schema & { const?: unknown; enum?: unknown[]; pattern?: string };

const SCALARS: Record<string, unknown> = { string: "eHg=", integer: 1, number: 1, boolean: true, null: null };

/** What is no null, when there is a choice. */
const membersOf = (schema: Schema): Described[] => {
  const members = (schema.anyOf ?? schema.oneOf ?? []) as Described[];
  const some = members.filter(({ type }) => type !== "null");
  return some.length === 0 ? members : some;
};

/** A value for each member of the widest union in it: together they have every property of ours. */
export function samplesOf(schema: Described, key = ""): unknown[] {
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum !== undefined) return [schema.enum[0]];
  if (schema.anyOf ?? schema.oneOf) return membersOf(schema).flatMap((member) => samplesOf(member, key));
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(
      ([name, of]) => [name, samplesOf(of, name)] as const,
    );
    const count = Math.max(1, ...fields.map(([, values]) => values.length));
    return Array.from({ length: count }, (_, i) =>
      Object.fromEntries(fields.map(([name, values]) => [name, values[i % values.length]])),
    );
  }
  if (schema.patternProperties !== undefined) {
    if (FACTS.has(key)) return [{ retry_after_ms: POISON }];
    const [of = {}] = Object.values(schema.patternProperties);
    return of.type === undefined && !("anyOf" in of)
      ? [POISON]
      : samplesOf(of).map((value) => ({ a_name: value }));
  }
  if (schema.type === "array") return [samplesOf(schema.items ?? {}, key)];
  const [type] = [schema.type].flat();
  return type === undefined ? [POISON] : [SCALARS[type] ?? POISON];
}

const STREAMED: Record<string, [event: string, schema: string]> = {
  events: ["run_event", "RunEvent"],
  logs: ["run_log", "RunLogChunk"],
  read: ["record", "StreamRecord"],
};

const eventText = (event: string, id: number, data: unknown): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

function streamOf(path: string): Response {
  const [event, name] = STREAMED[path.split("/").at(-1) ?? ""] ?? ["chunk", "OutputChunk"];
  const events = samplesOf(schemaOf(name)).map((data, i) => eventText(event, i + 1, data));
  return new Response([...events, eventText("end", events.length + 1, {})].join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

const isAt = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/:\w+/g, "[^/]+").replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);

/** Answers each request as its route says; `pick` tells which of the samples. Throws where no route is. */
export const answerBySchema =
  (pick: number): typeof globalThis.fetch =>
  async (input, init) => {
    const { pathname, searchParams } = new URL(input as string);
    if (searchParams.get("follow") === "1") return streamOf(pathname);
    const method = init?.method ?? "GET";
    const found = routes.filter((route) => route.method === method && isAt(route.path, pathname));
    // A literal path comes before one with a parameter.
    const [route] = found.toSorted((a, b) => a.path.split(":").length - b.path.split(":").length);
    if (route === undefined) throw new Error(`There is no route ${method} ${pathname}`);
    const good = Object.entries(route.responses).find(([status]) => status.startsWith("2"));
    const schema = (good?.[1] as { schema?: Schema } | undefined)?.schema;
    if (good === undefined || schema === undefined)
      return new Response(null, { status: Number(good?.[0] ?? 204) });
    // An append is answered as it was asked: with a record, or with those of a batch.
    const isBatch = typeof init?.body === "string" && init.body.startsWith(`{"records"`);
    const all = samplesOf(schema) as object[];
    const asked = method === "POST" ? all.filter((one) => !("records" in one) || isBatch) : all;
    const samples = asked.length === 0 ? all : asked;
    const sample = samples[pick % samples.length] as Record<string, unknown>;
    const isPage = typeof sample === "object" && sample !== null && "next_cursor" in sample;
    const body = isPage ? { ...sample, next_cursor: null } : sample;
    return new Response(JSON.stringify(body), { status: Number(good[0]) });
  };
