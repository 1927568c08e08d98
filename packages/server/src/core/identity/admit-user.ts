import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { isInvited } from "./invitation-reads.ts";
import { findUserByEmail, type UserRow } from "./user-reads.ts";
import { insertUser } from "./user-writes.ts";

/** The user of an address that was shown to be theirs. Someone invited is made one; nobody else is: null. */
export async function admitUser(
  tx: Tx,
  email: string,
  name: string | null,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<UserRow | null> {
  const user = await findUserByEmail(tx, email);
  if (user !== null || !(await isInvited(tx, email, now))) return user;
  await insertUser(tx, { id: newUuid(), email, name, now });
  return findUserByEmail(tx, email);
}
