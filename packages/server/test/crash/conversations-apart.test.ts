// R11 for conversations: sessions of two environments with one bundle and the same external ids, on warm processes of two
// agents. Each turn reads and sets the state, reads files, says what it used, and tries the same with all that it finds of others.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bundleSource } from "../../../agent/test/support/sdk-bundle.ts";
import { sql } from "../../src/db/sql.ts";
import { digestOf } from "../support/api-server.ts";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { insertKey } from "./support/insert-key.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

const MODES = ["exclusive", "shared"] as const;
const CAPACITY = 2;
/** Of each environment and mode: more than the slots of the agents, so that processes are used again. */
const SESSIONS = isLong() ? 8 : 3;
const TURNS = isLong() ? 10 : 3;
const SETTLE_MS = 60_000;

const CODE = `
import { actor } from "@keelson/sdk";

/** Of earlier turns in this process. */
const kept = [];
const told = (error) => error.name;
const refusedBy = (work) => Promise.resolve().then(work).then((value) => JSON.stringify(value ?? null), told);
const text = async (file) => Buffer.from(await file.bytes()).toString();

const turnOf = (id, execution) => actor({
  id,
  execution,
  async run(session, { run, usage, client }) {
    const { data: { mark, own, foreign } } = await session.input.receive();
    const found = { pid: process.pid, run: run.id, turn: session.turn, warm: kept.length, stolen: [], late: [] };
    const before = await session.state.get();
    found.state = { before: before.state, version: before.version };
    found.file = await text(await session.file(own));
    usage.add({ model: mark, inputTokens: session.turn });
    for (const [other, file] of foreign) {
      found.stolen.push(await refusedBy(async () => text(await session.file(file))));
      found.stolen.push(await refusedBy(() => client.sessions.files.get(other, file)));
      if (other !== session.id) found.stolen.push(await refusedBy(() => client.sessions.get(other)));
    }
    for (const { turn, session: last, usage: spent } of kept) {
      found.late.push(await refusedBy(async () => (await last.state.get()).state));
      found.late.push(await refusedBy(() => last.state.set(["late of " + turn])));
      await refusedBy(() => spent.add({ model: "late of " + turn }));
    }
    const { version } = await session.state.set([...(before.state ?? []), mark]);
    found.set = version;
    await session.output("log").append(found);
    kept.push({ turn: run.id, session, usage });
    if (kept.length > 4) kept.shift();
  },
});

export const exclusive = turnOf("exclusive", "exclusive");
export const shared = turnOf("shared", "shared");
`;

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

type Place = { name: string; key: string };
/** What a turn told of itself. */
type Found = {
  pid: number;
  run: string;
  turn: number;
  warm: number;
  state: { before: string[] | null; version: number };
  file: string;
  /** The answers to asking for what is the other environment's: names of errors, or what was read. */
  stolen: string[];
  /** The answers to calls of sessions that earlier turns had. */
  late: string[];
  set: number;
};
type Talk = { place: Place; id: string; own: string; same: string; mark: string; found: Found[] };

let site: Site;
let places: Place[];
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: "6s" });
  for (const [at, server] of site.servers.entries())
    await site.agent({ name: `agent ${at + 1}`, server, capacity: CAPACITY }).start();
  const { code, manifest } = await bundleSource(CODE);
  const bundle = Buffer.from(code).toString();
  const production = await insertKey(site, "production");
  places = [
    { name: "development", key: site.credentials.api_key },
    { name: "production", key: production },
  ];
  for (const { key } of places)
    await promoteWhenReady(
      site,
      await createDeployment(site, bundle, [], key, { actors: manifest.actors ?? [] }),
      key,
    );
});
after(() => site?.stop());

let calls = 0;

/** By one server and then the other. */
async function call(
  place: Place,
  method: string,
  path: string,
  sent: { body?: object; bytes?: Buffer } = {},
): Promise<Json> {
  calls += 1;
  const { url } = site.servers[calls % site.servers.length] as ServerProcess;
  const answer = await site.call(url, method, path, { as: place.key, ...sent });
  assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A session with a file of its own and one whose content and name the other environment has too. */
async function open(place: Place, mode: string, n: number): Promise<Talk> {
  const mark = `${place.name} ${mode} ${n}`;
  const { id } = await call(place, "POST", "/v1/sessions", {
    body: { actor: mode, external_id: `${mode} ${n}` },
  });
  const put = async (content: string): Promise<string> => {
    const bytes = Buffer.from(content);
    const path = `/v1/sessions/${id}/files/${digestOf(bytes)}?name=notes.txt`;
    return (await call(place, "PUT", path, { bytes })).id;
  };
  return {
    place,
    id,
    mark,
    own: await put(`file of ${mark}`),
    same: await put("the same everywhere"),
    found: [],
  };
}

async function takeTurn(talk: Talk, foreign: readonly Talk[]): Promise<void> {
  const { place, id, mark, own } = talk;
  const others = foreign.flatMap((other) => [
    [other.id, other.own],
    [id, other.own],
    [id, other.same],
  ]);
  await call(place, "POST", `/v1/sessions/${id}/inputs`, { body: { data: { mark, own, foreign: others } } });
  const turn = talk.found.length + 1;
  await until(`turn ${turn} of ${mark} has ended`, SETTLE_MS, async () => {
    const session = await call(place, "GET", `/v1/sessions/${id}`);
    assert.equal(session.last_failure, null);
    const { records } = await call(place, "GET", `/v1/sessions/${id}/outputs?stream=log&limit=200`);
    if (records.length < turn) return false;
    talk.found = records.map(({ data }: { data: Found }) => data);
    return true;
  });
}

/** What the other environment's code, or nobody's, left in what the session is. */
async function check(talk: Talk): Promise<void> {
  const { place, id, mark, own, same, found } = talk;
  const marks = found.map(() => mark);
  assert.deepEqual(await call(place, "GET", `/v1/sessions/${id}/state`).then(({ state }) => state), marks);
  for (const [at, { run, file, state, set, stolen, late }] of found.entries()) {
    assert.equal(file, `file of ${mark}`);
    assert.deepEqual(state, { before: at === 0 ? null : marks.slice(0, at), version: at });
    assert.equal(set, at + 1);
    assert.deepEqual([...new Set(stolen)], ["NotFoundError"], mark);
    // Its run has ended: it does not act for the one that calls it.
    for (const answer of late) assert.equal(answer, "UsageError");
    const { models } = await call(place, "GET", `/v1/runs/${run}/usage`);
    assert.deepEqual(
      models.map(({ model, calls, input_tokens: tokens }: Json) => [model, calls, tokens]),
      [[mark, 1, at + 1]],
    );
  }
  const usage = await call(place, "GET", `/v1/sessions/${id}/usage`);
  assert.deepEqual(
    usage.models.map(({ model, calls }: Json) => [model, calls]),
    [[mark, found.length]],
  );
  const { files } = await call(place, "GET", `/v1/sessions/${id}/files`);
  assert.deepEqual(files.map((file: Json) => file.id).toSorted(), [own, same].toSorted());
}

for (const mode of MODES) {
  test(`conversations of two environments never meet: ${mode}`, async (t) => {
    const numbers = Array.from({ length: SESSIONS }, (_, at) => at + 1);
    const all = await Promise.all(
      places.map((place) => Promise.all(numbers.map((n) => open(place, mode, n)))),
    );
    const [one, other] = all as [Talk[], Talk[]];
    for (let turn = 0; turn < TURNS; turn += 1) {
      // Each alone, so that slots change hands, and then both at once.
      const sides = turn % 2 === 0 ? [one, other] : [other, one];
      if (turn < TURNS - 1)
        for (const side of sides)
          await Promise.all(side.map((talk) => takeTurn(talk, side === one ? other : one)));
      else
        await Promise.all([
          ...one.map((talk) => takeTurn(talk, other)),
          ...other.map((talk) => takeTurn(talk, one)),
        ]);
    }
    for (const talk of [...one, ...other]) await check(talk);
    const pids = [one, other].map(
      (side) => new Set(side.flatMap(({ found }) => found.map(({ pid }) => pid))),
    );
    assert.deepEqual(
      [...(pids[0] as Set<number>)].filter((pid) => pids[1]?.has(pid)),
      [],
    );
    const turns = [...one, ...other].flatMap(({ found }) => found);
    const late = turns.reduce((sum, found) => sum + found.late.length, 0);
    t.diagnostic(
      `R11: ${turns.length} turns of ${2 * SESSIONS} conversations in ${(pids[0]?.size ?? 0) + (pids[1]?.size ?? 0)} processes · ` +
        `asked for what is the other environment's ${turns.reduce((sum, found) => sum + found.stolen.length, 0)} times · ` +
        `acted by what earlier turns left ${late} times`,
    );
    // Else nothing was tried.
    assert.ok(late >= turns.length / 4, `${late} attempts in ${turns.length} turns`);
  });
}

test("nobody's run says what it used after its end", async () => {
  const rows = await site.db.query(sql`SELECT model FROM run_usage WHERE model LIKE 'late of %'`);
  assert.deepEqual(rows, []);
});
