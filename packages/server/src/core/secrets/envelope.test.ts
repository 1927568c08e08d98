import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import type { Uuid } from "@keelson/contract";
import { decryptValue, encryptValue, masterKeyWrapper, rewrapKey } from "./envelope.ts";

const place = { environmentId: "e" as Uuid<"env">, secretId: "s" as Uuid<"sec">, version: 1 };
const keys = masterKeyWrapper(randomBytes(32));

describe("an encrypted value", () => {
  it("comes back whole, whatever it is", () => {
    for (const value of ["x", "naïve €\n", "y".repeat(65_536)])
      assert.equal(decryptValue(keys, place, encryptValue(keys, place, value)), value);
  });

  it("is another one each time, and shows nothing but its length", () => {
    const [a, b] = [encryptValue(keys, place, "swordfish"), encryptValue(keys, place, "swordfish")];
    assert.ok(!a.ciphertext.equals(b.ciphertext) && !a.wrappedKey.equals(b.wrappedKey));
    assert.ok(!a.ciphertext.includes("swordfish"));
  });

  it("does not open elsewhere, under another key, or changed", () => {
    const sealed = encryptValue(keys, place, "swordfish");
    for (const other of [
      { environmentId: "f" as Uuid<"env"> },
      { secretId: "t" as Uuid<"sec"> },
      { version: 2 },
    ])
      assert.throws(() => decryptValue(keys, { ...place, ...other }, sealed));
    assert.throws(() => decryptValue(masterKeyWrapper(randomBytes(32)), place, sealed));
    for (const field of ["ciphertext", "wrappedKey"] as const) {
      for (let at = 0; at < sealed[field].length; at += 1) {
        const changed = Buffer.from(sealed[field]);
        changed[at] = (changed[at] as number) ^ 1;
        assert.throws(() => decryptValue(keys, place, { ...sealed, [field]: changed }), `${field} ${at}`);
      }
    }
  });

  it("opens under a new master key once its data key is wrapped by that", () => {
    const next = masterKeyWrapper(randomBytes(32));
    const sealed = encryptValue(keys, place, "swordfish");
    const rewrapped = { ...sealed, wrappedKey: rewrapKey(keys, next, place, sealed.wrappedKey) };
    assert.equal(decryptValue(next, place, rewrapped), "swordfish");
    assert.throws(() => decryptValue(keys, place, rewrapped));
  });
});
