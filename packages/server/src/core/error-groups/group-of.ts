import { createHash } from "node:crypto";
import type { RunFailure, Uuid } from "@keelson/contract";
import { uuidOfBytes } from "../../uuid.ts";
import type { NewErrorGroup } from "./error-group.ts";
import { fingerprintOf } from "./fingerprint.ts";

const TITLE_CHARACTERS = 200;
const MESSAGE_CHARACTERS = 2_000;

/** PostgreSQL's text has no NUL, and a cut may have left half of a character. */
const cut = (text: string, characters: number): string =>
  text.slice(0, characters).replaceAll("\0", "").toWellFormed();

/** The group of a failure. Its id is a digest of what makes failures the same, and of the environment. */
export function groupOf(environmentId: Uuid<"env">, failure: RunFailure): NewErrorGroup {
  const { kind, name, message, frame } = fingerprintOf(failure);
  const digest = createHash("sha256")
    .update(JSON.stringify([environmentId, kind, name, message, frame]))
    .digest()
    .subarray(0, 16);
  // Version 8 and the variant, as RFC 9562 has it for ids that are made in a way of one's own.
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const firstLine = failure.message.slice(0, MESSAGE_CHARACTERS).trim().split("\n", 1)[0] ?? "";
  const title = [name, firstLine].filter((part) => part !== null && part !== "").join(": ");
  return {
    environmentId,
    id: uuidOfBytes<"err">(digest),
    kind: failure.kind,
    title: cut(title === "" ? failure.kind : title, TITLE_CHARACTERS),
    message: cut(failure.message, MESSAGE_CHARACTERS),
    frame: frame === null ? null : cut(frame, TITLE_CHARACTERS * 2),
  };
}
