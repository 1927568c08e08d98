import type { Member } from "@keelson/contract";
import type { Cli, UserClient } from "./cli.ts";
import { EXIT, ExitError } from "./exit-codes.ts";
import { listAll } from "./list-all.ts";

/** A member by id or address. */
export async function findMember(
  cli: Cli,
  { client }: UserClient,
  named: string,
  organization: string | undefined,
): Promise<Member> {
  const query = { organization_id: organization };
  const members = await listAll<Member>(client, "/api/members", "members", query, cli.host.signal);
  const found = members.find(
    ({ user_id, email }) => user_id === named || email.toLowerCase() === named.toLowerCase(),
  );
  if (found === undefined)
    throw new ExitError(EXIT.notFound, `${named} is no member; \`keelson member list\` shows who is`);
  return found;
}
