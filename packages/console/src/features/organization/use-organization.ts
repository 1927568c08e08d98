import type { Organization } from "@keelson/contract";
import { useSuspenseQuery } from "@tanstack/react-query";
import { notFound, useParams } from "@tanstack/react-router";
import { meQuery } from "../../app/session.ts";

/** The organization of the address, with the user's role in it. Not found unless they are a member. */
export function useOrganization(): Organization {
  const { organizationId } = useParams({ from: "/signed-in/organizations/$organizationId" });
  const { organizations } = useSuspenseQuery(meQuery).data;
  const found = organizations.find(({ id }) => id === organizationId);
  if (found === undefined) return notFound({ throw: true }) as never;
  return found;
}

/** What is read of an organization, to be read again when it changed. */
export const organizationKey = (id: string): readonly unknown[] => ["o", id];

/** May change members, projects and keys; the server decides, this only hides what it would refuse. */
export const mayManage = ({ role }: Organization): boolean => role === "owner" || role === "admin";
