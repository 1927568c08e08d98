// Requests to an operation of the OpenAPI document: proper ones, ones with a flaw, and ones that are hardly HTTP.

import { API_VERSION } from "@keelson/contract";
import fc from "fast-check";
import type { ByteRequest } from "./send-bytes.ts";
import {
  fieldFor,
  HOSTILE_STRINGS,
  hostileValue,
  spoiled,
  toJsonText,
  valueFor,
  type Scene,
} from "./schema-values.ts";

// The document is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

export type Operation = {
  readonly method: string;
  readonly path: string;
  readonly parameters: Any[];
  readonly bodyTypes: Readonly<Record<string, Any>>;
};

export type Callers = {
  /** Who may call the operation. */
  readonly fitting: readonly string[];
  /** Who may not. */
  readonly others: readonly string[];
};

type Header = readonly [string, string];
type Draft = { method: string; path: string; query: string; headers: Header[]; body: Buffer | null };

const HOST: Header = ["Host", "127.0.0.1"];
/** As they stand in a request line: no space, but anything else. */
const ODD_TARGETS = ["%", "%zz", "%00", "%ff", "%ed%a0%80", "%c0%ae", "%2e%2e", "%2f", ".", "..", "\u00e9", "\ud83d", "{id}", ":id", "*", "a;b", "%u0041", "a".repeat(600), "a".repeat(9_000)]; // prettier-ignore
const ODD_QUERIES = ["&", "=", "&&=&", "%", "a=%", "limit=%ff", "limit=%00", "limit[]=1", "limit[a]=1", "__proto__=1", "__proto__[a]=1", "constructor=1", "limit=1&limit=2", "cursor=a&cursor=b", "cursor=%00", "cursor=AAAA", "cursor=eyJ9", "cursor=bnVsbA", "cursor=W10", "limit=+1", "limit=1e2", "limit=0x10", "limit=", "limit=99999999999999999999", "status=&status=", "tag=%00", "tag=%ed%a0%80", "created_after=2026-01-01", "created_after=275760-09-13T00:00:00.001Z", "created_after=0000-01-01T00:00:00Z", "project_id=1&project_id=2", "environment_id=%00", "a".repeat(9_000), "?", "#", "a=1".repeat(500)]; // prettier-ignore
const REPEATABLE: readonly Header[] = [
  ["Service-API-Version", API_VERSION],
  ["Service-API-Version", "2020-01-01"],
  ["X-Request-Id", "one"],
  ["X-Request-Id", "a b\u00ff"],
  ["X-Request-Id", "x".repeat(200)],
  ["Idempotency-Key", "one"],
  ["Idempotency-Key", "\u00ff\u00fe"],
  ["Idempotency-Key", ""],
  ["Idempotency-Key", "k".repeat(300)],
  ["Authorization", "Bearer"],
  ["Authorization", "Basic YTpi"],
  ["Authorization", `Bearer ${"a".repeat(5_000)}`],
  ["Content-Type", "application/json"],
  ["Content-Type", ";;;"],
  ["Last-Event-ID", "-1"],
  ["Last-Event-ID", "\u00ff"],
  ["Last-Event-ID", "99999999999999999999"],
  ["Accept", "text/event-stream"],
  ["Expect", "100-continue"],
  ["Expect", "200-ok"],
  ["Upgrade", "websocket"],
  ["Range", "bytes=5-1"],
  ["If-None-Match", "*"],
  ["Content-Encoding", "gzip"],
  ["Transfer-Encoding", "chunked"],
  ["Transfer-Encoding", "gzip, chunked"],
  ["Content-Length", "-1"],
  ["Content-Length", "1, 1"],
  ["Host", "elsewhere"],
  ["X-Long", "x".repeat(20_000)],
  ["X Space", "1"],
  ["X-Control", "a\u0001b"],
];
const CONTENT_TYPES = ["", "text/plain", "application/octet-stream", "application/json; charset=utf-16", "application/json, text/plain", "APPLICATION/JSON", "application/json;", "multipart/form-data", "application/x-www-form-urlencoded", "application/jsonx", "application/json; charset=\u00ff", "*/*", "/"]; // prettier-ignore
const FORMS = ["a=1&a=2&__proto__=3", "%", "%00=%ff", "=&==&&", "--a\r\n\r\n--a--", "--a\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n1\r\n--a--", "--a\r\ncontent-disposition: form-data; name=\"a\"; filename=\"\0\"\r\n\r\n1\r\n--a--\r\n"]; // prettier-ignore
const ODD_METHODS = ["OPTIONS", "TRACE", "HEAD", "PROPFIND", "QUERY", "FOO", "get", "G\u0000T", "", "PATCH", "DELETE", "PUT", "POST", "GET"]; // prettier-ignore

/** Values from proper to hostile, most of them proper. */
const flawed = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: hostileValue });

/** Text as it is written into a URL; half a surrogate pair has no UTF-8 and is written as its bytes would be. */
const inUrl = (value: unknown): string =>
  (typeof value === "string" ? value : JSON.stringify(value))
    .split(/(\p{Cs})/u)
    .map((part) => (/^\p{Cs}$/u.test(part) ? "%ed%a0%80" : encodeURIComponent(part)))
    .join("");

function pathOf({ path, parameters }: Operation, scene: Scene): fc.Arbitrary<string> {
  const parts = path.split("/").map((part): fc.Arbitrary<string> => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) return fc.constant(part);
    const parameter = parameters.find((one: Any) => one.name === name);
    return flawed(fieldFor(name, parameter?.schema, scene)).map(inUrl);
  });
  return fc.tuple(...parts).map((texts) => texts.join("/"));
}

function queryOf({ parameters }: Operation, scene: Scene): fc.Arbitrary<string> {
  const pairs = parameters
    .filter((parameter: Any) => parameter.in === "query")
    .map(({ name, schema }: Any) =>
      fc
        .tuple(fc.integer({ min: 0, max: 9 }), flawed(fieldFor(name, schema, scene)))
        .map(([chance, value]): string[] => {
          // Where a user acts is said nearly always.
          if (chance > (name in scene.known ? 8 : 3)) return [];
          const values: unknown[] = Array.isArray(value) ? value : [value];
          return [...values, ...(chance === 0 ? values : [])].map((one) => `${name}=${inUrl(one)}`);
        }),
    );
  const odd = fc.oneof(
    { weight: 9, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_QUERIES).map((text) => [text]) },
  );
  return fc.tuple(fc.tuple(...pairs), odd).map(([some, others]) => [...some.flat(), ...others].join("&"));
}

function bodyOf({ method, bodyTypes }: Operation, scene: Scene): fc.Arbitrary<[string, Buffer] | null> {
  const json = bodyTypes["application/json"];
  if (json !== undefined) {
    const value = valueFor(json.schema, scene);
    return fc
      .oneof(
        { weight: 4, arbitrary: value },
        { weight: 5, arbitrary: spoiled(value) },
        { weight: 1, arbitrary: hostileValue },
      )
      .map((content) => ["application/json", Buffer.from(toJsonText(content))]);
  }
  if ("application/octet-stream" in bodyTypes)
    return fc
      .oneof(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...(scene.known["bytes"] as Uint8Array[])))
      .map((bytes) => ["application/octet-stream", Buffer.from(bytes)]);
  if ("*/*" in bodyTypes)
    return fc
      .tuple(
        fc.constantFrom(...CONTENT_TYPES, "application/json", "multipart/form-data; boundary=a"),
        fc.oneof(
          hostileValue.map((value) => Buffer.from(toJsonText(value))),
          fc.uint8Array({ maxLength: 200 }).map((some) => Buffer.from(some)),
          fc.constantFrom(...FORMS).map((text) => Buffer.from(text)),
        ),
      )
      .map(([type, bytes]) => [type, bytes]);
  if (method === "GET") return fc.constant(null);
  return fc.constantFrom(
    null,
    ["application/json", Buffer.from("{}")],
    ["application/json", Buffer.from("[1]")],
  );
}

function credentialOf({ fitting, others }: Callers): fc.Arbitrary<Header[]> {
  const bearer = (text: string): Header[] => [["Authorization", `Bearer ${text}`]];
  const bad = fc.constantFrom<Header[]>(
    [],
    bearer("garbage"),
    bearer("\u00ff\u00fe"),
    bearer("kl_key_"),
    ...others.map(bearer),
  );
  if (fitting.length === 0) return bad;
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...fitting.map(bearer)) },
    { weight: 1, arbitrary: bad },
  );
}

function draftOf(operation: Operation, scene: Scene, callers: Callers): fc.Arbitrary<Draft> {
  const extraHeaders = fc.oneof(
    { weight: 12, arbitrary: fc.constant<Header[]>([]) },
    { weight: 2, arbitrary: fc.constant<Header[]>([["Accept", "text/event-stream"]]) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom("Idempotency-Key", "Last-Event-ID", "X-Request-Id", "Keelson-Client-Version")
        .chain((name) =>
          fc
            .constantFrom(...HOSTILE_STRINGS.filter((text) => text.length < 5_000 && !/[\r\n\0]/.test(text)))
            .map((text): Header[] => [[name, Buffer.from(text).toString("latin1")]]),
        ),
    },
  );
  return fc
    .tuple(
      pathOf(operation, scene),
      queryOf(operation, scene),
      credentialOf(callers),
      bodyOf(operation, scene),
      extraHeaders,
    )
    .map(([path, query, credential, body, extra]) => ({
      method: operation.method,
      path,
      query,
      headers: [
        HOST,
        ...credential,
        ...extra,
        ...(body === null ? [] : [["Content-Type", body[0]] as const]),
      ],
      body: body?.[1] ?? null,
    }));
}

const finish = ({ method, path, query, headers, body }: Draft): ByteRequest => ({
  method,
  target: query === "" ? path : `${path}?${query}`,
  headers: body === null ? headers : [...headers, ["Content-Length", String(body.length)]],
  body: body ?? Buffer.alloc(0),
});

/** Requests of the operation's shape, with flaws in their values. */
export const fuzzedRequest = (
  operation: Operation,
  scene: Scene,
  callers: Callers,
): fc.Arbitrary<ByteRequest> => draftOf(operation, scene, callers).map(finish);

/** Requests of which the bytes themselves are wrong. */
export function mangledRequest(
  operation: Operation,
  scene: Scene,
  callers: Callers,
): fc.Arbitrary<ByteRequest> {
  const draft = draftOf(operation, scene, callers);
  const bytes = fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some));
  const withBody = (body: fc.Arbitrary<Buffer>): fc.Arbitrary<ByteRequest> =>
    fc
      .tuple(draft, body)
      .map(([one, content]) =>
        finish({ ...one, headers: withType(one.headers, "application/json"), body: content }),
      );
  return fc.oneof(
    withBody(bytes),
    // Cut in its middle, and bytes that are not UTF-8 put there.
    fc
      .tuple(draft, fc.nat(), fc.constantFrom("", "\u00ff", "\u00c0\u0080", "\u00ed\u00a0\u0080"))
      .map(([one, at, wrong]) => {
        const body = one.body ?? Buffer.from('{"a":"b"}');
        const cut = at % (body.length + 1);
        const rest = wrong === "" ? Buffer.alloc(0) : body.subarray(cut);
        const joined = Buffer.concat([body.subarray(0, cut), Buffer.from(wrong, "latin1"), rest]);
        return finish({ ...one, headers: withType(one.headers, "application/json"), body: joined });
      }),
    fc
      .tuple(draft, fc.constantFrom(...CONTENT_TYPES))
      .map(([one, type]) =>
        finish({ ...one, headers: withType(one.headers, type), body: one.body ?? Buffer.from("{}") }),
      ),
    // Longer than announced: what is over belongs to no request.
    fc.tuple(draft, fc.integer({ min: 1, max: 20 })).map(([one, by]) => {
      const request = finish({ ...one, body: one.body ?? Buffer.from("{}") });
      return { ...request, body: Buffer.concat([request.body, Buffer.alloc(by, "z")]) };
    }),
    fc.tuple(draft, fc.integer({ min: 1, max: 20 })).map(([one, by]) => {
      const request = finish({
        ...one,
        body: Buffer.concat([one.body ?? Buffer.from("{}"), Buffer.alloc(by)]),
      });
      return { ...request, body: request.body.subarray(0, -by), isIncomplete: true };
    }),
    fc.tuple(draft, fc.constantFrom(...ODD_TARGETS), fc.nat()).map(([one, odd, at]) => {
      const parts = one.path.split("/");
      parts[1 + (at % (parts.length - 1))] = odd;
      return finish({ ...one, path: parts.join("/") });
    }),
    fc.tuple(draft, fc.constantFrom(...ODD_QUERIES)).map(([one, query]) => finish({ ...one, query })),
    fc
      .tuple(draft, fc.constantFrom(...REPEATABLE), fc.constantFrom(...REPEATABLE), fc.boolean())
      .map(([one, first, second, isTwice]) => {
        const request = finish(one);
        return {
          ...request,
          headers: [...request.headers, first, isTwice ? first : second],
          isIncomplete: true,
        };
      }),
    fc.tuple(draft, fc.constantFrom(...ODD_METHODS)).map(([one, method]) => finish({ ...one, method })),
    fc.tuple(draft, bytes).map(([one, garbage]) => ({
      ...finish(one),
      method: garbage.toString("latin1"),
      isIncomplete: true,
    })),
  );
}

const withType = (headers: readonly Header[], type: string): Header[] => [
  ...headers.filter(([name]) => name !== "Content-Type"),
  ["Content-Type", type],
];
