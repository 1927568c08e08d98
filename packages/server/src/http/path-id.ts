import { decodeId, type IdPrefix } from "@keelson/contract";
import { notFound } from "../domain-error.ts";

/** The UUID of an id in a path; one that is malformed names nothing. @throws DomainError `not_found` */
export function pathId(prefix: IdPrefix, params: { id: string }): string {
  const id = decodeId(prefix, params.id);
  if (id === null) throw notFound();
  return id;
}
