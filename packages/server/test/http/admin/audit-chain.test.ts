import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { encodeId, type AuditEvent } from "@keelson/contract";
import { rawSql, sql } from "../../../src/db/sql.ts";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { asAdmin, exportedEvents } from "../../support/audit.ts";
import { addForeignPlace, firstOrganization } from "../../support/tenancy.ts";

const WRITERS = 12;
const WRITES_EACH = 10;

let server: ApiServer;
let chainId: string;
let organizationId: string;

before(async () => {
  server = await startApiServer();
  chainId = await firstOrganization(server);
  organizationId = encodeId("org", chainId);
});
after(() => server.stop());

const putSecret = async (name: string): Promise<void> => {
  const { status, text } = await server.call("PUT", `/api/secrets/${name}`, { body: { value: name } });
  assert.ok(status < 300, text);
};

const verify = async (organization: string | null = organizationId) => {
  const query = organization === null ? "" : `?organization_id=${organization}`;
  const { status, body, text } = await asAdmin(server)("GET", `audit-events/verify${query}`);
  assert.equal(status, 200, text);
  return body;
};

/** As docs/concepts/audit-log.md says it, without code of the server. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, of]) => [key, sorted(of)]),
  );
}

function checkByHand(events: readonly AuditEvent[]): void {
  let previous = "0".repeat(64);
  for (const [index, { digest, ...event }] of events.entries()) {
    assert.equal(event.sequence, index + 1);
    assert.equal(event.previous_digest, previous);
    assert.equal(
      createHash("sha256")
        .update(JSON.stringify(sorted(event)))
        .digest("hex"),
      digest,
    );
    previous = digest;
  }
}

describe("a chain", () => {
  test("has no gap and no fork after many writers at once", async () => {
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let n = 0; n < WRITES_EACH; n += 1) await putSecret(`S_${writer}_${n}`);
      }),
    );
    const events = await exportedEvents(server, organizationId);
    assert.equal(events.length, WRITERS * WRITES_EACH);
    checkByHand(events);
    const names = events.map(({ details }) => details["name"]);
    for (let writer = 0; writer < WRITERS; writer += 1)
      assert.deepEqual(
        names.filter((name) => String(name).startsWith(`S_${writer}_`)),
        Array.from({ length: WRITES_EACH }, (_, n) => `S_${writer}_${n}`),
      );
    const { valid, events: count, head, fault } = await verify();
    assert.deepEqual([valid, count, fault], [true, events.length, null]);
    assert.deepEqual(head, { sequence: events.length, digest: events.at(-1)?.digest });
  });

  test("is an organization's own", async () => {
    const there = await addForeignPlace(server);
    const report = await verify(there.organization_id);
    assert.deepEqual(report, {
      organization_id: there.organization_id,
      valid: true,
      events: 0,
      head: null,
      fault: null,
    });
    assert.deepEqual(await exportedEvents(server, there.organization_id), []);
  });

  test("can be verified while it grows", async () => {
    const writing = Promise.all(Array.from({ length: 5 }, (_, n) => putSecret(`GROWING_${n}`)));
    const reports = await Promise.all(Array.from({ length: 5 }, () => verify()));
    await writing;
    assert.deepEqual(
      reports.map(({ fault }) => fault),
      reports.map(() => null),
    );
  });
});

describe("the database", () => {
  for (const [what, statement] of [
    ["change", "UPDATE audit_events SET action = 'x'"],
    ["removal", "DELETE FROM audit_events"],
    ["emptying", "TRUNCATE audit_events"],
    ["change of no row", "UPDATE audit_events SET action = 'x' WHERE false"],
  ] as const)
    test(`refuses a ${what}`, () =>
      assert.rejects(server.db.query(rawSql(statement)), /only added, never changed or removed/));
});

/** Does to the table what its owner can, and puts it back as it was. */
async function tampered(statement: ReturnType<typeof sql>, check: () => Promise<void>): Promise<void> {
  await server.db.transaction(async (tx) => {
    await tx.query(rawSql("CREATE TABLE kept_events AS SELECT * FROM audit_events"));
    await tx.query(rawSql("CREATE TABLE kept_chains AS SELECT * FROM audit_chains"));
    await tx.query(rawSql("ALTER TABLE audit_events DISABLE TRIGGER audit_events_stay"));
    await tx.query(statement);
  });
  try {
    await check();
  } finally {
    await server.db.transaction(async (tx) => {
      await tx.query(rawSql("DELETE FROM audit_events"));
      await tx.query(rawSql("DELETE FROM audit_chains"));
      await tx.query(rawSql("INSERT INTO audit_events SELECT * FROM kept_events"));
      await tx.query(rawSql("INSERT INTO audit_chains SELECT * FROM kept_chains"));
      await tx.query(rawSql("DROP TABLE kept_events, kept_chains"));
      await tx.query(rawSql("ALTER TABLE audit_events ENABLE TRIGGER audit_events_stay"));
    });
    assert.equal((await verify()).valid, true);
  }
}

const changed = (from: string, to: string) => sql`
  UPDATE audit_events SET content = replace(content, ${from}, ${to}) WHERE chain_id = ${chainId} AND sequence = 5`;

describe("tampering by whoever owns the database", () => {
  const cases: [string, () => ReturnType<typeof sql>, { sequence: number; kind: string }][] = [
    ["another actor", () => changed('"kind":"api_key"', '"kind":"user"'), { sequence: 5, kind: "changed" }],
    [
      "another actor, with the digest made anew",
      () => sql`
        UPDATE audit_events SET content = c, digest = sha256(convert_to(c, 'UTF8'))
        FROM (SELECT replace(content, '"kind":"api_key"', '"kind":"user"') AS c FROM audit_events
              WHERE chain_id = ${chainId} AND sequence = 5) n
        WHERE chain_id = ${chainId} AND sequence = 5`,
      { sequence: 6, kind: "unlinked" },
    ],
    [
      "an event taken out",
      () => sql`DELETE FROM audit_events WHERE chain_id = ${chainId} AND sequence = 7`,
      { sequence: 7, kind: "missing" },
    ],
    [
      "the first event taken out",
      () => sql`DELETE FROM audit_events WHERE chain_id = ${chainId} AND sequence = 1`,
      { sequence: 1, kind: "missing" },
    ],
    [
      "an event that no filter finds",
      () => sql`UPDATE audit_events SET actor_id = NULL WHERE chain_id = ${chainId} AND sequence = 3`,
      { sequence: 3, kind: "misfiled" },
    ],
    [
      "events put in another order",
      () => sql`
        UPDATE audit_events SET content = o.content, digest = o.digest
        FROM (SELECT content, digest, sequence FROM audit_events WHERE chain_id = ${chainId}) o
        WHERE chain_id = ${chainId} AND audit_events.sequence IN (8, 9) AND o.sequence = 17 - audit_events.sequence`,
      { sequence: 8, kind: "unlinked" },
    ],
  ];
  for (const [what, statement, fault] of cases)
    test(`is found: ${what}`, () =>
      tampered(statement(), async () => {
        const report = await verify();
        assert.equal(report.valid, false);
        const { sequence, kind, message } = report.fault;
        assert.deepEqual({ sequence, kind }, fault);
        assert.ok(message.length > 10);
        assert.equal(report.events, fault.sequence - 1);
      }));

  test("is found: the end cut off", async () => {
    const { head } = await verify();
    await tampered(
      sql`DELETE FROM audit_events WHERE chain_id = ${chainId} AND sequence = ${head.sequence}`,
      async () => {
        const report = await verify();
        assert.deepEqual(
          [report.valid, report.fault.kind, report.events],
          [false, "head", head.sequence - 1],
        );
      },
    );
  });

  test("of the end and the chain's row is found by a head that was kept elsewhere", async () => {
    const { head } = await verify();
    await tampered(
      sql`
        WITH cut AS (DELETE FROM audit_events WHERE chain_id = ${chainId} AND sequence = ${head.sequence})
        UPDATE audit_chains SET sequence = ${head.sequence - 1},
          digest = (SELECT digest FROM audit_events WHERE chain_id = ${chainId} AND sequence = ${head.sequence - 1})
        WHERE chain_id = ${chainId}`,
      async () => {
        const report = await verify();
        assert.equal(report.valid, true);
        assert.ok(report.head.sequence < head.sequence);
      },
    );
  });
});
