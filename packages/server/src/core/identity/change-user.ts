import type { UpdateUser, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { notifyRevoked } from "../credentials/credential-cache.ts";
import { findAdminUser, lockUser, type AdminUserRow } from "./admin-reads.ts";
import { updateUser } from "./admin-writes.ts";

/**
 * Makes a user an administrator of the installation or suspends them, or takes it back. All servers look the user's
 * sessions up again as soon as they hear of the commit.
 * There is no last administrator to protect: the admin key is one.
 *
 * @throws DomainError `not_found`
 */
export async function changeUser(
  tx: Tx,
  userId: Uuid<"user">,
  { is_admin: isAdmin, suspended }: UpdateUser,
  now: number,
): Promise<AdminUserRow> {
  if (!(await lockUser(tx, userId))) throw notFound();
  await updateUser(tx, userId, { isAdmin: isAdmin ?? null, suspended: suspended ?? null, now });
  await notifyRevoked(tx, { kind: "user", id: userId });
  const user = await findAdminUser(tx, userId);
  if (user === null) throw new Error("A user vanished while they were changed.");
  return user;
}
