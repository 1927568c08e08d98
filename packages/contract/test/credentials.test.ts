import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import {
  bearerOf,
  CREDENTIAL_KINDS,
  credentialsWithin,
  formatCredential,
  formatRunToken,
  isCellTag,
  parseCredential,
  readCredential,
  readRunToken,
  type CredentialKind,
} from "@keelson/contract";

const make = (kind: CredentialKind, cell: string | null): string =>
  kind === "run" ? formatRunToken(randomBytes(52), cell) : formatCredential(kind, randomBytes(96), cell);

const KINDS = Object.values(CREDENTIAL_KINDS);
const CELLS = [null, "eu", "eu1", "useast12", "z9"];

describe("a credential", () => {
  for (const kind of KINDS)
    for (const cell of CELLS)
      test(`of the kind ${kind} says its kind and the cell ${cell}`, () => {
        const text = make(kind, cell);
        assert.deepEqual(readCredential(text), { kind, cell });
        assert.equal(parseCredential(text), kind);
        const shape = new RegExp(
          `^kl_${kind}_${cell === null ? "" : `${cell}_`}[0-9A-Za-z]{${kind === "run" ? 84 : 38}}$`,
        );
        assert.match(text, shape);
      });

  test("has check digits over its tag too", () => {
    const text = make("key", "eu1");
    for (const changed of [text.replace("_eu1_", "_eu2_"), text.replace("_eu1_", "_")])
      assert.equal(readCredential(changed), null, changed);
  });

  test("without a tag has the form that it has always had", () => {
    const [key, run] = [`kl_key_${"7".repeat(32)}0VBpcZ`, `kl_run_${"07yhS3".repeat(13)}34PHVs`];
    assert.equal(formatCredential("key", Buffer.alloc(48, 7)), key);
    assert.equal(formatRunToken(Buffer.alloc(52, 7)), run);
    assert.deepEqual([readCredential(key)?.kind, readCredential(run)?.kind], ["key", "run"]);
  });

  for (const cell of ["", "e", "1eu", "EU1", "eu-1", "eu_1", "toolong12", "é1"])
    test(`cannot have the tag "${cell}"`, () => {
      assert.equal(isCellTag(cell), false);
      assert.throws(() => make("key", cell), /cannot be the tag of a cell/);
    });

  test("has the length of its kind", () => {
    const [key, run] = [make("key", "eu1"), make("run", "eu1")];
    for (const text of [key.slice(0, -1), `${key}0`, run.slice(0, -46), `kl_eu1_${key.slice(11)}`])
      assert.equal(readCredential(text), null, text);
  });

  test("of a run keeps its bytes under every tag", () => {
    const bytes = randomBytes(52);
    for (const cell of CELLS)
      assert.deepEqual(Buffer.from(readRunToken(formatRunToken(bytes, cell)) ?? []), bytes);
  });

  test("is found whole in a longer text", () => {
    for (const kind of KINDS)
      for (const cell of CELLS) {
        const text = `a path/${make(kind, cell)}/rest and "${make(kind, cell)}".`;
        assert.equal(text.replace(credentialsWithin(), "x"), 'a path/x/rest and "x".');
        assert.equal(text.replace(credentialsWithin(kind), "x"), 'a path/x/rest and "x".');
      }
  });
});

test("a bearer credential is one word after the scheme", () => {
  for (const header of [undefined, "Bearer", "Bearer ", "Bearer a b", "Bearera", "Basic a"])
    assert.equal(bearerOf(header), null, header);
  assert.equal(bearerOf("bearer   a "), "a");
});
