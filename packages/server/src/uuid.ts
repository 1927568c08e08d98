import { randomFillSync } from "node:crypto";
import type { IdPrefix, Uuid } from "@keelson/contract";
import { CLOCK_LEAD_MS } from "./clock.ts";

/** Makes UUIDv7 text (RFC 9562, section 5.7), of the resource that it is wanted for. */
export type NewUuid = <Prefix extends IdPrefix>() => Uuid<Prefix>;

const POOL_BYTES = 4096;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/**
 * A generator whose ids sort in the order they were made: within one millisecond the 12 bits of `rand_a` count up
 * (RFC 9562, section 6.2, method 1), and a clock that goes back a little does not take the ids back with it. One that was far
 * ahead and is right again does: or what is made then would be the newest until that time has come.
 */
export function createUuidGenerator(now: () => number): NewUuid {
  const pool = new Uint8Array(POOL_BYTES);
  let offset = POOL_BYTES;
  let lastMs = 0;
  let counter = 0;
  let timeMs = -1;
  let time = "";
  const byte = (): string => HEX[pool[offset++] as number] as string;
  return <Prefix extends IdPrefix>() => {
    if (offset + 10 > POOL_BYTES) {
      randomFillSync(pool);
      offset = 0;
    }
    const ms = now();
    if (ms > lastMs || ms < lastMs - CLOCK_LEAD_MS) {
      lastMs = ms;
      counter = ((pool[offset++] as number) << 2) & 0x3ff;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    // Many ids are made in one millisecond.
    if (lastMs !== timeMs) {
      const digits = lastMs.toString(16).padStart(12, "0");
      time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
      timeMs = lastMs;
    }
    const variant = HEX[((pool[offset++] as number) & 0x3f) | 0x80] as string;
    return `${time}-7${counter.toString(16).padStart(3, "0")}-${variant}${byte()}-${byte()}${byte()}${byte()}${byte()}${byte()}${byte()}` as Uuid<Prefix>;
  };
}

/** The UUID of 16 bytes. */
export const uuidOfBytes = <Prefix extends IdPrefix>(bytes: Buffer): Uuid<Prefix> =>
  bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") as Uuid<Prefix>;

/** The least id that can be made at a time or after it: ids sort by when they were made. */
export function firstUuidOf(ms: number): Uuid<never> {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000` as Uuid<never>;
}

/** No id is before it (RFC 9562, section 5.9). */
export const FIRST_UUID = "00000000-0000-0000-0000-000000000000" as Uuid<never>;

/** No id is after it (RFC 9562, section 5.10). */
export const LAST_UUID = "ffffffff-ffff-ffff-ffff-ffffffffffff" as Uuid<never>;

/** The id after one; of the last, that itself. */
export function nextUuidOf(uuid: string): Uuid<never> {
  if (uuid === LAST_UUID) return LAST_UUID;
  const digits = (BigInt(`0x${uuid.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") as Uuid<never>;
}

/** The time in a UUIDv7, in milliseconds. */
export const timeOfUuid = (uuid: string): number => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
