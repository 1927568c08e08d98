import { Type } from "typebox";
import { Nullable } from "./primitives.ts";

const Word = Type.String({ pattern: "^[a-z0-9_]{1,32}$" });

/** A `Platform` on the wire. */
export const PlatformObject = Type.Object(
  { os: Word, arch: Word, libc: Nullable(Type.Enum(["glibc", "musl"])) },
  { additionalProperties: false },
);
