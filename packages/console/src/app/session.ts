import type { Environment, Organization, Project, User } from "@keelson/contract";
import { queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { get, getAll, send, setCsrfToken } from "../api/client.ts";
import { ensureLoaded, queryClient } from "../api/query-client.ts";
import { at } from "../api/route.ts";
import { listEnvironments } from "../api/routes/environments.ts";
import { getMe } from "../api/routes/people.ts";
import { listProjects } from "../api/routes/projects.ts";
import { logOut } from "../api/routes/signing-in.ts";
import { signInByLink } from "./login-link.ts";

/** The signed-in user. Rejects with an ApiError 401 when nobody is. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async () => {
    await signInByLink();
    const me = await get(getMe, {});
    setCsrfToken(me.csrf_token);
    return me;
  },
  staleTime: 60_000,
});

export type PlaceRow = { organization: Organization; project: Project; environment: Environment };

/** Every environment that the user may see, with what it belongs to; those made first stand first. */
export const placesQuery = queryOptions({
  queryKey: ["places"],
  queryFn: async (): Promise<PlaceRow[]> => {
    const { organizations } = await ensureLoaded(meQuery);
    const perOrganization = await Promise.all(
      organizations.map(async (organization) => {
        const projects = await getAll(listProjects, {
          organization_id: organization.id,
        });
        return Promise.all(projects.map((project) => placesOf(organization, project)));
      }),
    );
    return perOrganization.flat(2).toReversed();
  },
  staleTime: 60_000,
});

async function placesOf(organization: Organization, project: Project): Promise<PlaceRow[]> {
  const environments = await getAll(at(listEnvironments, { project_id: project.id }), {});
  return environments.map((environment) => ({ organization, project, environment }));
}

/** Of pages that only a signed-in user sees. */
export function useUser(): User {
  const { user } = useSuspenseQuery(meQuery).data;
  if (user === null) throw new Error("An API key is no user.");
  return user;
}

export async function signOut(): Promise<void> {
  await send(logOut);
  setCsrfToken(null);
  queryClient.clear();
  // A new page: nothing of the session stays in memory.
  location.assign("/login");
}
