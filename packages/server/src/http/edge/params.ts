import { decodeId, type IdPrefix, type Uuid } from "@keelson/contract";
import { notFound } from "../../domain-error.ts";

/** A part of a path: an id, which its handler is given as its UUID, or text, which may have to fit a pattern. */
export type Param = { id: IdPrefix } | TextParam;
type TextParam = { text: RegExp | null };
export type Params = Readonly<Record<string, Param>>;

export const Id = <Prefix extends IdPrefix>(prefix: Prefix): { id: Prefix } => ({ id: prefix });
export const Text = (pattern?: string): TextParam => ({
  text: pattern === undefined ? null : new RegExp(pattern),
});

/** What a handler is given of a path. */
export type ParamsOf<P> = {
  [Name in keyof P]: P[Name] extends { id: infer Prefix extends IdPrefix } ? Uuid<Prefix> : string;
};

/**
 * The parts of a path as its route declares them. What cannot be one names nothing, and tells no more than what is absent.
 *
 * @throws DomainError `not_found`
 */
export function decodeParams(
  declared: Params | undefined,
  raw: Readonly<Record<string, string>>,
): Record<string, string> {
  if (declared === undefined) return raw;
  const decoded: Record<string, string> = {};
  for (const [name, param] of Object.entries(declared)) {
    const text = raw[name] ?? "";
    const value = "id" in param ? decodeId(param.id, text) : param.text?.test(text) === false ? null : text;
    if (value === null) throw notFound();
    decoded[name] = value;
  }
  return decoded;
}
