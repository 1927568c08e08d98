import { decodeId, type CreateOrganization, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { findWorkerGroup } from "../workers/worker-group-reads.ts";
import { findOrganization, type AdminOrganizationRow } from "./admin-reads.ts";
import { insertOrganization } from "./admin-writes.ts";
import { insertMember } from "./member-writes.ts";
import { chooseSlug } from "./slugs.ts";
import { findUserByEmail } from "./user-reads.ts";
import { insertUser } from "./user-writes.ts";

/**
 * Makes an organization and its first owner, without whom nobody could do anything in it. The administrator vouches for the
 * address: someone new signs in by a link that is sent there.
 *
 * @throws DomainError `already_exists` for a slug that is taken, `invalid_request` for a worker group that there is not
 */
export async function createOrganization(
  tx: Tx,
  { name, slug, owner_email: email, worker_group_id: group }: CreateOrganization,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<{ organization: AdminOrganizationRow; ownerId: Uuid<"user"> }> {
  const workerGroupId = group === undefined ? null : decodeId("wgrp", group);
  if (workerGroupId !== null && (await findWorkerGroup(tx, workerGroupId)) === null)
    throw invalidRequest([{ path: "worker_group_id", message: "there is no such worker group" }]);
  const id = newUuid<"org">();
  const chosen = chooseSlug(name, slug);
  if (!(await insertOrganization(tx, { id, name, slug: chosen, workerGroupId, now })))
    throw new DomainError(
      "already_exists",
      `There is an organization with the slug ${chosen}. Choose another slug.`,
      { slug: chosen },
    );
  // Two who make the same user at once make one.
  await insertUser(tx, { id: newUuid(), email, name: null, now });
  const owner = await findUserByEmail(tx, email);
  if (owner === null) throw new Error("A user vanished while they were made.");
  await insertMember(tx, { organizationId: id, userId: owner.id, role: "owner", now });
  const organization = await findOrganization(tx, id);
  if (organization === null) throw new Error("An organization vanished while it was made.");
  return { organization, ownerId: owner.id };
}
