import { decodeId, type IdPrefix, type Uuid } from "@keelson/contract";
import { invalidRequest } from "../../domain-error.ts";

/**
 * An id in a filter; null where there is none. A malformed one matches nothing, but is more likely a mistake, so it is told.
 *
 * @throws DomainError `invalid_request`
 */
export function filterId<Prefix extends IdPrefix>(
  path: string,
  prefix: Prefix,
  text: string | undefined,
): Uuid<Prefix> | null {
  if (text === undefined) return null;
  const id = decodeId(prefix, text);
  if (id === null) throw invalidRequest([{ path, message: `must be an id that begins with ${prefix}_` }]);
  return id;
}
