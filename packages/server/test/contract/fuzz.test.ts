// Requests that nobody would write, to every operation of the document. Whatever comes, the answer is one of ours.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { API_VERSION, ERROR_CODES } from "@keelson/contract";
import fc from "fast-check";
import { checkAnswer as checkAgainstDocument } from "../support/check-answer.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { isLong, newSeed } from "../support/seeded-random.ts";
import { makeFuzzScene, type FuzzScene } from "./support/fuzz-scene.ts";
import { fuzzedRequest, mangledRequest, type Operation } from "./support/fuzzed-requests.ts";
import { sendBytes, type ByteAnswer, type ByteRequest } from "./support/send-bytes.ts";

// The document is looked into freely.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

const seed = newSeed();
const FUZZED_EACH = isLong() ? 26 : 4;
const MANGLED_EACH = isLong() ? 10 : 2;
/** What would tell of our insides: frames of a stack, statements, the words of PostgreSQL and its driver. */
const INSIDES =
  /node:internal|node_modules|\.ts:\d|\bat \S+ \(|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM) |pg_|\brelation "|\bcolumn "|violates|duplicate key|invalid input syntax|out of range for type|TypeError|undefined/;

let server: ApiServer;
let world: FuzzScene;
const counts = new Map<string, number>();

function checkAnswer(request: ByteRequest, answer: ByteAnswer): void {
  const told = `${answer.status} ${answer.text.slice(0, 500)}`;
  // Reading live files is reserved, and says so.
  const isReserved = answer.status === 501 && /[?&]source=live(&|$)/.test(request.target);
  assert.ok(answer.status < 500 || isReserved, told);
  assert.equal(answer.headers.get("service-api-version"), API_VERSION, told);
  const requestId = answer.headers.get("x-request-id");
  assert.match(requestId ?? "", /^[\x21-\x7e]{1,128}$/, told);
  checkAgainstDocument({
    method: request.method,
    path: request.target,
    status: answer.status,
    contentType: answer.headers.get("content-type") ?? null,
    text: answer.text,
  });
  // An answer to HEAD has no body.
  if (answer.status < 400 || request.method === "HEAD") return;
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/, told);
  const body: Any = JSON.parse(answer.text);
  assert.doesNotMatch(answer.text, INSIDES);
  // Those who speak OAuth are refused in its form.
  if (typeof body.error === "string" && request.target.startsWith("/oauth/")) {
    assert.deepEqual(Object.keys(body), ["error", "error_description"], told);
    return;
  }
  assert.deepEqual(Object.keys(body), ["error"], told);
  assert.deepEqual(Object.keys(body.error), ["code", "message", "details", "request_id"], told);
  const { code, message, details, request_id } = body.error;
  assert.ok(Object.hasOwn(ERROR_CODES, code), told);
  assert.equal(ERROR_CODES[code as keyof typeof ERROR_CODES].status, answer.status, told);
  assert.ok(typeof message === "string" && message.length > 10, told);
  assert.ok(details === null || (typeof details === "object" && !Array.isArray(details)), told);
  assert.equal(request_id, requestId, told);
}

async function check(request: ByteRequest): Promise<void> {
  const answer = await sendBytes(server.url, request);
  const key = String(answer?.status ?? "none");
  counts.set(key, (counts.get(key) ?? 0) + 1);
  if (answer !== null) checkAnswer(request, answer);
  else assert.ok(request.isIncomplete, "the connection ended without an answer");
}

/** A request as it can be read in a report. */
const shown = (request: ByteRequest): ByteRequest =>
  Object.assign(request, {
    [fc.toStringMethod]: () =>
      `${request.method} ${request.target.slice(0, 300)} ${JSON.stringify(request.headers).slice(0, 600)} ${JSON.stringify(Buffer.from(request.body).toString("latin1")).slice(0, 1_000)}`,
  });

let rounds = 0;

/** Each round draws from a seed of its own: from one seed all operations would be given the same flaws. */
function send(requests: fc.Arbitrary<ByteRequest>, numRuns: number): Promise<void> {
  rounds += 1;
  const parameters = { seed: seed + rounds, numRuns, interruptAfterTimeLimit: 10_000 };
  return fc.assert(fc.asyncProperty(requests.map(shown), check), parameters);
}

describe("requests that nobody would write", () => {
  before(async () => {
    server = await startApiServer();
    world = await makeFuzzScene(server);
  });
  after(() => server.stop());

  test("are all answered in our words, and none as our failure", async (context) => {
    context.diagnostic(`KEELSON_TEST_SEED=${seed}`);
    for (const [path, item] of Object.entries<Any>(world.document.paths)) {
      for (const [method, declared] of Object.entries<Any>(item)) {
        const operation: Operation = {
          method: method.toUpperCase(),
          path,
          parameters: declared.parameters.filter((parameter: Any) => parameter.$ref === undefined),
          bodyTypes: declared.requestBody?.content ?? {},
        };
        await context.test(`${operation.method} ${path}`, async () => {
          const { scene, callers } = await world.prepare(declared, path);
          await send(fuzzedRequest(operation, scene, callers), FUZZED_EACH);
          await send(mangledRequest(operation, scene, callers), MANGLED_EACH);
        });
      }
    }
  });

  test("leave the server as able as it was", async (context) => {
    const lines = [...counts]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([status, count]) => `${status}: ${count}`);
    context.diagnostic(`answers by status: ${lines.join(", ")}`);
    assert.equal((await server.call("GET", "/readyz", { as: null })).status, 200);
    const started = await server.call("POST", "/v1/tasks/report/start", { body: {} });
    assert.equal(started.status, 201, started.text);
    // What was taken can be read again.
    assert.ok(world.leasedRuns.length > 0);
    const reads = world.leasedRuns.flatMap((id) =>
      ["", "/events", "/logs"].map((part) => `/v1/runs/${id}${part}`),
    );
    for (const path of ["/v1/runs", "/v1/tasks", "/v1/deployments", "/v1/sessions", ...reads]) {
      const answer = await server.call("GET", path);
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    }
    const statuses = ["200", "400", "401", "404", "405", "415"];
    assert.ok(
      statuses.every((status) => counts.has(status)),
      "some kind of answer was never seen: the requests are too much alike",
    );
  });
});
