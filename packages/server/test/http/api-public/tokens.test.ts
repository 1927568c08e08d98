import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { startApiServer, type Answer, type ApiServer, type CallOptions } from "../../support/api-server.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

const ORIGIN = { origin: "https://elsewhere.example" };
const MISSING = encodeId("tok", "00000000-0000-7000-8000-000000000000");

type Created = { id: string; public_access_token: string; callback_url: string };

async function create(): Promise<Created> {
  return (await server.call("POST", "/v1/tokens", { body: {} })).body as Created;
}

const codeOf = ({ status, body }: Answer): string => (status < 400 ? body.status : body.error.code);
const corsHeaders = ({ headers }: Answer): string[] =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("a browser", () => {
  const complete = (id: string, as: string | null, body: object = {}): Promise<Answer> =>
    server.call("POST", `/api/v1/tokens/${id}/complete`, { as, body, headers: ORIGIN });

  test("completes a token with the token's own public token", async () => {
    const { id, public_access_token: as } = await create();
    const first = await complete(id, as, { data: { approved: true } });
    assert.equal(codeOf(first), "completed", first.text);
    assert.deepEqual(first.body.token.data, { approved: true });
    assert.deepEqual(first.body.token.completed_by, { kind: "public", id: null });
    assert.equal(first.headers.get("access-control-allow-origin"), "*");
    assert.equal(codeOf(await complete(id, as, { data: { approved: true } })), "already_completed");
    assert.equal(codeOf(await complete(id, as, { data: null })), "token_completion_conflict");
  });

  test("may ask before, for ten minutes, from any origin", async () => {
    const headers = {
      ...ORIGIN,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type",
    };
    const answer = await server.call("OPTIONS", `/api/v1/tokens/${MISSING}/complete`, { as: null, headers });
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.equal(answer.headers.get("access-control-allow-methods"), "POST");
    assert.match(answer.headers.get("access-control-allow-headers") ?? "", /authorization, content-type/);
    assert.equal(answer.headers.get("access-control-max-age"), "600");
    assert.equal(answer.headers.get("access-control-allow-credentials"), null);
  });

  test("is refused without that token, and may read why", async () => {
    const [one, other] = [await create(), await create()];
    const secret = one.callback_url.split("/").at(-1) ?? "";
    for (const as of [null, "garbage", server.credentials.api_key, server.credentials.user_token, secret]) {
      const answer = await complete(one.id, as);
      assert.deepEqual([answer.status, codeOf(answer)], [401, "unauthenticated"]);
      assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    }
    // A valid token of another: its id is answered as one that is not there.
    const foreign = await server.call("POST", `/api/v1/tokens/${one.id}/complete`, {
      as: other.public_access_token,
      headers: { "x-request-id": "same" },
    });
    const absent = await server.call("POST", `/api/v1/tokens/${MISSING}/complete`, {
      as: other.public_access_token,
      headers: { "x-request-id": "same" },
    });
    assert.deepEqual([foreign.status, foreign.text], [404, absent.text]);
    assert.equal((await server.call("GET", `/v1/tokens/${one.id}`)).body.status, "pending");
  });

  test("cannot do anything else with it", async () => {
    const { id, public_access_token: as } = await create();
    for (const [method, path] of [
      ["GET", `/v1/tokens/${id}`],
      ["POST", `/v1/tokens/${id}/complete`],
      ["POST", `/api/tokens/${id}/complete`],
      ["POST", `/v1/tokens/${id}/cancel`],
      ["GET", "/v1/runs"],
    ] as const) {
      assert.equal((await server.call(method, path, { as })).status, 401, path);
    }
  });

  test("is told of data that is not I-JSON", async () => {
    const { id, public_access_token: as } = await create();
    const answer = await server.call("POST", `/api/v1/tokens/${id}/complete`, {
      as,
      bytes: Buffer.from('{"data":{"a":1,"a":2}}'),
      headers: { "content-type": "application/json" },
    });
    assert.equal(answer.status, 400, answer.text);
  });
});

describe("a provider's callback", () => {
  const post = (
    url: string,
    type: string | null,
    bytes: Uint8Array | null,
    options: CallOptions = {},
  ): Promise<Answer> =>
    server.call("POST", new URL(url, server.url).pathname, {
      as: null,
      ...(bytes === null ? {} : { bytes }),
      ...options,
      headers: { ...(type === null ? {} : { "content-type": type }), ...options.headers },
    });

  const multipart = (boundary: string): Buffer =>
    Buffer.from(
      [
        ["verdict", "yes"],
        ["tag", "a"],
        ["tag", "b"],
      ]
        .map(
          ([name, value]) =>
            `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
        )
        .join("") +
        `--${boundary}\r\ncontent-disposition: form-data; name="scan"; filename="a.bin"\r\ncontent-type: image/png\r\n\r\n\u0001\u0002\r\n` +
        `--${boundary}--\r\n`,
    );

  const bytes = (text: string): Buffer => Buffer.from(text);
  const binary = Buffer.from([0, 255, 1, 254]);
  for (const [what, type, body, data] of [
    ["JSON as it is", "application/json", bytes(' {"a":[1,"x"]} '), { a: [1, "x"] }],
    ["JSON of a type of its own", "application/cloudevents+json; charset=utf-8", bytes("[1]"), [1]],
    ["JSON that is null", "application/json", bytes("null"), null],
    [
      "the fields of a form",
      "application/x-www-form-urlencoded",
      bytes("verdict=yes+please&tag=a&tag=b&__proto__=x&n=%E2%82%AC"),
      Object.fromEntries([
        ["verdict", "yes please"],
        ["tag", ["a", "b"]],
        ["__proto__", "x"],
        ["n", "€"],
      ]),
    ],
    [
      "the fields of a multipart form",
      "multipart/form-data; boundary=xyz",
      multipart("xyz"),
      {
        verdict: "yes",
        tag: ["a", "b"],
        scan: { filename: "a.bin", content_type: "image/png", base64: "AQI=" },
      },
    ],
    [
      "other text",
      "application/xml",
      bytes("<ok>ü</ok>"),
      { content_type: "application/xml", text: "<ok>ü</ok>" },
    ],
    [
      "text in its encoding",
      "text/plain; charset=iso-8859-1",
      Buffer.from([0xfc]),
      { content_type: "text/plain; charset=iso-8859-1", text: "ü" },
    ],
    ["text without a type", null, bytes("done"), { content_type: null, text: "done" }],
    ["bytes", "image/png", binary, { content_type: "image/png", base64: "AP8B/g==" }],
    [
      "bytes that look like text",
      "application/octet-stream",
      bytes("hi"),
      {
        content_type: "application/octet-stream",
        base64: "aGk=",
      },
    ],
    ["text that is none", "text/plain", binary, { content_type: "text/plain", base64: "AP8B/g==" }],
    ["nothing", null, null, null],
    ["nothing with a type", "text/plain", bytes(""), null],
  ] as const) {
    test(`takes ${what}, and the same again`, async () => {
      const { id, callback_url } = await create();
      const send = (): Promise<Answer> =>
        // The client would add a type of its own.
        type === null && body !== null ? postWithoutType(callback_url, body) : post(callback_url, type, body);
      const first = await send();
      assert.equal(codeOf(first), "completed", first.text);
      assert.deepEqual(first.body.token.data, data);
      assert.deepEqual(first.body.token.completed_by, { kind: "callback", id: null });
      const again = await send();
      assert.deepEqual([again.status, codeOf(again)], [200, "already_completed"]);
      assert.deepEqual((await server.call("GET", `/v1/tokens/${id}`)).body, first.body.token);
      const other = await post(callback_url, "application/json", bytes('"other"'));
      assert.equal(codeOf(other), "token_completion_conflict");
    });
  }

  async function postWithoutType(url: string, body: Uint8Array): Promise<Answer> {
    const { request } = await import("node:http");
    const text = await new Promise<string>((resolve, reject) => {
      const sent = request(
        url,
        { method: "POST", headers: { "content-length": body.length } },
        (incoming) => {
          const parts: Buffer[] = [];
          incoming.on("data", (part: Buffer) => parts.push(part));
          incoming.on("end", () => resolve(Buffer.concat(parts).toString()));
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
    const content = JSON.parse(text);
    return { status: content.error === undefined ? 200 : 400, headers: new Headers(), text, body: content };
  }

  test("sends the same form with another boundary: it is the same completion", async () => {
    const { callback_url } = await create();
    const send = (boundary: string): Promise<Answer> =>
      post(callback_url, `multipart/form-data; boundary=${boundary}`, multipart(boundary));
    assert.deepEqual(
      [codeOf(await send("one")), codeOf(await send("two"))],
      ["completed", "already_completed"],
    );
  });

  for (const [what, type, body] of [
    ["a key that is there twice", "application/json", bytes('{"a":1,"a":2}')],
    ["a number that a double does not hold", "application/json", bytes("[9007199254740993]")],
    ["JSON that is none", "application/json", bytes("{")],
    ["JSON that is not UTF-8", "application/json", Buffer.from([0x22, 0xff, 0x22])],
    ["NUL in a form", "application/x-www-form-urlencoded", bytes("a=%00")],
    ["a form without its boundary", "multipart/form-data", multipart("xyz")],
    ["a form that is cut off", "multipart/form-data; boundary=xyz", multipart("xyz").subarray(0, 60)],
  ] as const) {
    test(`is refused with ${what}`, async () => {
      const { id, callback_url } = await create();
      const answer = await post(callback_url, type, body);
      assert.deepEqual([answer.status, codeOf(answer)], [400, "invalid_request"], answer.text);
      assert.equal((await server.call("GET", `/v1/tokens/${id}`)).body.status, "pending");
    });
  }

  test("takes a body of 1 MiB of any kind, and not one byte more", async () => {
    for (const type of ["image/png", "text/plain"]) {
      const { callback_url } = await create();
      assert.equal((await post(callback_url, type, Buffer.alloc(1024 * 1024 + 1, 65))).status, 413);
      assert.equal((await post(callback_url, type, Buffer.alloc(1024 * 1024, 65))).status, 200);
    }
  });

  test("sends no CORS header on any method", async () => {
    const { callback_url } = await create();
    const path = new URL(callback_url).pathname;
    const preflight = { ...ORIGIN, "access-control-request-method": "POST" };
    for (const target of [path, `${path}x`, path.replace(/tok_\w+/, MISSING)]) {
      for (const method of ["OPTIONS", "GET", "HEAD", "PUT", "PATCH", "DELETE", "POST"]) {
        const answer = await server.call(method, target, { as: null, headers: preflight });
        assert.deepEqual(corsHeaders(answer), [], `${method} ${answer.status}`);
        if (method !== "POST") assert.equal(answer.status, 405);
      }
    }
  });

  test("with a wrong id and with a wrong secret is one answer, whatever it sends", async () => {
    const [one, other] = [await create(), await create()];
    const path = new URL(one.callback_url).pathname;
    const secret = path.split("/").at(-1) ?? "";
    const otherSecret = other.callback_url.split("/").at(-1) ?? "";
    const answers = new Set<string>();
    for (const target of [
      path.replace(secret, otherSecret),
      path.replace(secret, one.public_access_token),
      path.replace(secret, "x"),
      path.replace(secret, `${secret}x`),
      path.replace(secret, "x".repeat(600)),
      path.replace(one.id, other.id),
      path.replace(one.id, MISSING),
      path.replace(one.id, "tok_1"),
      path.replace(one.id, one.id.toUpperCase()),
    ]) {
      for (const [type, body] of [
        ["application/json", "{"],
        ["application/json", "{}"],
      ] as const) {
        const answer = await post(target, type, bytes(body), { headers: { "x-request-id": "same" } });
        assert.equal(answer.status, 404, `${target} ${answer.text}`);
        const perConnection = ["date", "connection", "keep-alive"];
        const headers = [...answer.headers].filter(([name]) => !perConnection.includes(name));
        answers.add(`${answer.text}\n${JSON.stringify(headers)}`);
      }
    }
    assert.equal(answers.size, 1, [...answers].join("\n"));
    assert.equal((await server.call("GET", `/v1/tokens/${one.id}`)).body.status, "pending");
  });
});
