import type { DeviceStatus, ErrorCode } from "@keelson/contract";

/**
 * How someone becomes known.
 *
 * A session lasts 30 days after it was last used. It begins by showing that a mail address is one's own (a magic link, an
 * invitation to someone new), by an account elsewhere whose verified address it is, or by approving a device.
 *
 * A device authorization (RFC 8628) waits for a signed-in person, who approves or denies it by its user code within 15 minutes.
 * The device asks at an interval and gets one session of an approved one; then it is consumed.
 */
export const LOGIN_METHODS = ["magic_link", "device", "github", "invitation", "browser"] as const;
export type LoginMethod = (typeof LOGIN_METHODS)[number];

export const USER_SESSION_MS = 30 * 86_400_000;
export const MAGIC_LINK_MS = 15 * 60_000;

export const DEVICE_CODE_MS = 15 * 60_000;
export const DEVICE_INTERVAL_SECONDS = 5;
/** RFC 8628, section 3.5: by how much the interval grows with every `slow_down`. */
const SLOW_DOWN_SECONDS = 5;
/** Requests that left in time may arrive a little closer together. */
const POLL_TOLERANCE_MS = 500;

/** Wrong user codes that one user may type in a window. Of 20^8 codes that finds none. */
export const MAX_CODE_FAILURES = 10;
export const CODE_FAILURE_WINDOW_MS = 15 * 60_000;

export const DEVICE_EDGES = [
  { from: "pending", on: "approve", to: "approved" },
  { from: "pending", on: "deny", to: "denied" },
  { from: "approved", on: "ask", to: "consumed" },
] as const satisfies readonly { from: DeviceStatus; on: string; to: DeviceStatus }[];

type Refusal<Code> = { kind: "refuse"; code: Code; message: string };
type Move = { kind: "move"; to: DeviceStatus };
export type DeviceDecision = Move | Refusal<ErrorCode>;

/** RFC 8628, section 3.5. */
export type AskRefusal = Refusal<"authorization_pending" | "slow_down" | "access_denied" | "expired_token">;

const EXPIRED: AskRefusal = {
  kind: "refuse",
  code: "expired_token",
  message: "The device code is unknown, used or expired. Start the sign-in again.",
};

/** The device asks for its session. `isEarly`: sooner than it was told to. */
export function decideAsk(status: DeviceStatus, isExpired: boolean, isEarly: boolean): Move | AskRefusal {
  if (isExpired) return EXPIRED;
  switch (status) {
    case "pending":
      return isEarly
        ? {
            kind: "refuse",
            code: "slow_down",
            message: "Too many polls. Add 5 seconds to the interval and continue.",
          }
        : {
            kind: "refuse",
            code: "authorization_pending",
            message: "The sign-in is not approved yet. Ask again after the interval.",
          };
    case "approved":
      return { kind: "move", to: "consumed" };
    case "denied":
      return { kind: "refuse", code: "access_denied", message: "The sign-in was denied." };
    case "consumed":
      return EXPIRED;
  }
}

/** A signed-in person answers. */
export function decideAnswer(status: DeviceStatus, to: "approved" | "denied"): DeviceDecision {
  switch (status) {
    case "pending":
      return { kind: "move", to };
    case "approved":
    case "denied":
    case "consumed":
      return { kind: "refuse", code: "invalid_state", message: `This sign-in was ${status} before.` };
  }
}

export const isEarlyPoll = (lastPolledAt: number | null, intervalSeconds: number, now: number): boolean =>
  lastPolledAt !== null && now - lastPolledAt < intervalSeconds * 1_000 - POLL_TOLERANCE_MS;

export const slowedInterval = (intervalSeconds: number): number => intervalSeconds + SLOW_DOWN_SECONDS;

/** RFC 8628, section 6.1: letters that form no words and are not taken for digits. */
const CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** A user code, `XXXX-XXXX`, of random bytes; those from 240 up are skipped so that every letter is equally likely. */
export function userCodeOf(random: Uint8Array): string {
  const letters = [...random]
    .filter((byte) => byte < 240)
    .slice(0, CODE_LENGTH)
    .map((byte) => CODE_LETTERS.charAt(byte % CODE_LETTERS.length));
  if (letters.length < CODE_LENGTH) throw new RangeError("not enough random bytes for a user code");
  return `${letters.slice(0, 4).join("")}-${letters.slice(4).join("")}`;
}

/** The code as it is stored, however it was typed; null when it is none. */
export function parseUserCode(text: string): string | null {
  const letters = text.toUpperCase().replaceAll(/[^A-Z]/g, "");
  return letters.length === CODE_LENGTH ? `${letters.slice(0, 4)}-${letters.slice(4)}` : null;
}
