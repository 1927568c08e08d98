import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatRunToken, type LogStream } from "@keelson/contract";
import { createGivenSecrets, createRedactor } from "../src/executions/redactor.ts";

const SECRETS = { A: "swordfish", B: "line one\nline two", C: "swordfish-2", SHORT: "abc" };

function redacted(pieces: readonly string[], secrets: Record<string, string> = SECRETS): string {
  const parts: Buffer[] = [];
  const redactor = createRedactor(secrets, (_stream: LogStream, bytes) => void parts.push(bytes));
  for (const piece of pieces) redactor.write("stdout", Buffer.from(piece));
  redactor.end();
  return Buffer.concat(parts).toString();
}

describe("redaction", () => {
  it("takes out whole values and nothing else", () => {
    assert.equal(
      redacted(["a swordfish, swordfis and swordfish-2"]),
      "a [redacted], swordfis and [redacted]",
    );
    assert.equal(redacted(["a\nline one\nline two\nb"]), "a\n[redacted]\nb");
    assert.equal(redacted(["abc is short"]), "abc is short");
    assert.equal(redacted(["nothing"], {}), "nothing");
  });

  it("takes out values as they stand in JSON", () => {
    assert.equal(redacted([JSON.stringify({ key: SECRETS.B })]), `{"key":"[redacted]"}`);
  });

  it("finds a value wherever it is cut, and gives everything else out unchanged", () => {
    const text = `start swordfish ${"swordfis".repeat(3)} line one\nline two end sword`;
    const expected = redacted([text]);
    for (let at = 1; at < text.length; at += 1)
      assert.equal(redacted([text.slice(0, at), text.slice(at)]), expected, `cut at ${at}`);
    assert.equal(redacted(text.split("")), expected);
  });

  it("holds back no more than what may begin a value", () => {
    const parts: string[] = [];
    const redactor = createRedactor(
      SECRETS,
      (stream, bytes) => void parts.push(`${stream}:${bytes.toString()}`),
    );
    redactor.write("stdout", Buffer.from("Ready\n"));
    redactor.write("stdout", Buffer.from("sword"));
    redactor.write("stderr", Buffer.from("fish\n"));
    redactor.write("stdout", Buffer.from("play\n"));
    assert.deepEqual(parts, ["stdout:Ready\n", "stderr:fish\n", "stdout:swordplay\n"]);
  });

  it("takes values out of anything in an event", () => {
    const { json, text } = createRedactor(SECRETS, () => undefined);
    assert.deepEqual(json({ a: ["x swordfish", 1, null], swordfish: { b: "swordfish" } }), {
      a: ["x [redacted]", 1, null],
      "[redacted]": { b: "[redacted]" },
    });
    assert.equal(text("no swordfish"), "no [redacted]");
  });

  it("takes out the token of any run, with and without the tag of a cell", () => {
    const given = createGivenSecrets();
    for (const cell of [null, "eu1", "useast12"]) {
      const token = formatRunToken(Buffer.alloc(52, 7), cell);
      assert.equal(given.redact(`by ${token}, and "${token}"`), 'by [redacted], and "[redacted]"');
    }
  });
});
