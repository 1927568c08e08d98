import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Uuid } from "@keelson/contract";
import type { MasterKey } from "../credentials/master-key.ts";

/**
 * Encryption of values at rest: AES-256-GCM under a data key of the value's own, which is wrapped by a key that is never
 * stored. A key management service can stand in for the master key behind `KeyWrapper`.
 */
export type KeyWrapper = {
  wrap(dataKey: Buffer, context: Buffer): Buffer;
  /** @throws Error when it was wrapped by another key or in another context. */
  unwrap(wrapped: Buffer, context: Buffer): Buffer;
};

/** What a value belongs to: the associated data of its encryption. */
export type ValuePlace = { environmentId: Uuid<"env">; secretId: Uuid<"sec">; version: number };

export type Envelope = { wrappedKey: Buffer; ciphertext: Buffer };

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Wraps by a key derived from the master key for this purpose alone. */
export function masterKeyWrapper(masterKey: MasterKey): KeyWrapper {
  const key = Buffer.from(hkdfSync("sha256", masterKey, "", "keelson secret data keys", KEY_BYTES));
  return {
    wrap: (dataKey, context) => seal(key, dataKey, context),
    unwrap: (wrapped, context) => open(key, wrapped, context),
  };
}

const contextOf = ({ environmentId, secretId, version }: ValuePlace): Buffer =>
  Buffer.from(`keelson secret 1\n${environmentId}\n${secretId}\n${version}`);

export function encryptValue(keys: KeyWrapper, place: ValuePlace, value: string): Envelope {
  const context = contextOf(place);
  const dataKey = randomBytes(KEY_BYTES);
  try {
    return {
      wrappedKey: keys.wrap(dataKey, context),
      ciphertext: seal(dataKey, Buffer.from(value), context),
    };
  } finally {
    dataKey.fill(0);
  }
}

/** @throws Error when the row was changed, moved, or encrypted under another master key. */
export function decryptValue(keys: KeyWrapper, place: ValuePlace, envelope: Envelope): string {
  const context = contextOf(place);
  const dataKey = keys.unwrap(envelope.wrappedKey, context);
  try {
    return open(dataKey, envelope.ciphertext, context).toString();
  } finally {
    dataKey.fill(0);
  }
}

/** The data key under another wrapper; the value stays as it is encrypted. */
export function rewrapKey(from: KeyWrapper, to: KeyWrapper, place: ValuePlace, wrappedKey: Buffer): Buffer {
  const context = contextOf(place);
  const dataKey = from.unwrap(wrappedKey, context);
  try {
    return to.wrap(dataKey, context);
  } finally {
    dataKey.fill(0);
  }
}

function seal(key: Buffer, plain: Buffer, context: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(context);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, sealed: Buffer, context: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(context);
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
