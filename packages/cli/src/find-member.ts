import type { Member } from "@keelson/sdk";
import type { Cli, UserClient } from "./cli.ts";
import { EXIT, ExitError } from "./exit-codes.ts";
import { listAll, WHOLE } from "./list-all.ts";

/** A member by id or address. */
export async function findMember(
  cli: Cli,
  { client }: UserClient,
  named: string,
  organization: string | undefined,
): Promise<Member> {
  const members = await listAll(
    client.members.list({ ...WHOLE, organizationId: organization }, { signal: cli.host.signal }),
  );
  const found = members.find(
    ({ userId, email }) => userId === named || email.toLowerCase() === named.toLowerCase(),
  );
  if (found === undefined)
    throw new ExitError(EXIT.notFound, `${named} is no member; \`keelson member list\` shows who is`);
  return found;
}
