import type { OauthAccess, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { lockUserEnvironment, type UserEnvironment } from "../credentials/principal-reads.ts";
import { roleHolds } from "../credentials/principal.ts";
import type { Actor } from "../identity/identity.ts";
import { keepOauthClient } from "./client-writes.ts";
import { insertGrant, type NewGrant } from "./grant-writes.ts";
import { UNUSED_CLIENT_MS } from "./oauth.ts";

/** Where a person lets a client act, and how. */
export type ChosenPlace = { projectId: Uuid<"proj">; environmentId: Uuid<"env">; access: OauthAccess };

export type MadeGrant = { id: Uuid<"ogr">; place: UserEnvironment; access: OauthAccess };

/** What `write` adds for a person, at the least. */
const ACTS = "tasks.start";

/**
 * Makes the grant that a person approves, for the client to come for.
 *
 * @throws DomainError `not_found` for an environment that is not theirs, and for a client that is not registered any more;
 *   `forbidden` and `invalid_request` for more than they may do, or than it asks for
 */
export async function makeGrant(
  tx: Tx,
  actor: Actor,
  asked: { clientId: Uuid<"ocl">; access: OauthAccess },
  chosen: ChosenPlace,
  rest: Pick<NewGrant, "code" | "expiresAt" | "now"> & { newUuid: NewUuid },
): Promise<MadeGrant> {
  const { newUuid, now, ...facts } = rest;
  const { projectId, environmentId, access } = chosen;
  const place = await lockUserEnvironment(tx, actor.userId, projectId, environmentId);
  if (place === null) throw notFound();
  if (access === "write" && asked.access === "read")
    throw invalidRequest([{ path: "grant.access", message: "is more than the client asks for" }]);
  if (access === "write" && !roleHolds(place.role, ACTS))
    throw new DomainError("forbidden", "You may only look there yourself, so the client may, too.", {
      permission: ACTS,
    });
  if (!(await keepOauthClient(tx, asked.clientId, now + UNUSED_CLIENT_MS))) throw notFound();
  const id = newUuid<"ogr">();
  await insertGrant(tx, {
    ...facts,
    id,
    clientId: asked.clientId,
    userId: actor.userId,
    environmentId,
    access,
    now,
  });
  return { id, place, access };
}
