import { decodeId, ExternalId, type Uuid } from "@keelson/contract";
import { Type, type TProperties } from "typebox";
import { findSessionIdByExternalId } from "../../../core/sessions/session-reads.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { Id, type Params } from "../../edge/params.ts";

/** How a session is named: by its id, or by the external id of the open one, else the newest. */
export type SessionAddress = { id: string } | { externalId: string };

/** The session's id, which is only known to be there when it was found by its external id. */
export async function sessionIdOf(
  db: Queryable,
  { environmentId }: { environmentId: Uuid<"env"> },
  address: SessionAddress,
): Promise<Uuid<"sess">> {
  const id =
    "id" in address
      ? decodeId("sess", address.id)
      : await findSessionIdByExternalId(db, environmentId, address.externalId);
  if (id === null) throw notFound();
  return id;
}

type Place = { environmentId: Uuid<"env"> };
type Named = { params: unknown; query: unknown };

/**
 * A way to name a session in a path: `{id}` is always a session's id, and beside each item route stands one under
 * `by-external-id` that takes `external_id` as a query parameter.
 */
export type Naming = {
  /** The path of the item, to which a route adds its own. */
  item: string;
  name: (name: string) => string;
  params: Params;
  /** What the query of each of its routes has. */
  query: TProperties;
  note: string;
  idOf: (db: Queryable, place: Place, call: Named) => Promise<Uuid<"sess">>;
};

const BY_ID: Naming = {
  item: "/sessions/:id",
  name: (name) => name,
  params: { id: Id("sess") },
  query: {},
  note: "",
  idOf: async (_db, _place, { params }) => (params as { id: Uuid<"sess"> }).id,
};

const BY_EXTERNAL_ID: Naming = {
  item: "/sessions/by-external-id",
  name: (name) => `${name}ByExternalId`,
  params: {},
  query: { external_id: ExternalId },
  note: " The session is the open one with that `external_id`, else the newest that had it.",
  idOf: (db, place, { query }) =>
    sessionIdOf(db, place, { externalId: (query as { external_id: string }).external_id }),
};

export const NAMINGS: readonly Naming[] = [BY_ID, BY_EXTERNAL_ID];

/** A query of the route's own fields and those that name the session. */
export const queryOf = ({ query }: Naming, own: TProperties = {}) =>
  Type.Object({ ...query, ...own }, { additionalProperties: false });
