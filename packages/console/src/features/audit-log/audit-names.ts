import type { AuditEvent } from "@keelson/contract";
import { useQueries } from "@tanstack/react-query";
import { get } from "../../api/client.ts";
import { at, type InOrganization } from "../../api/route.ts";
import { adminGetUser } from "../../api/routes/admin-users.ts";
import { getMember } from "../../api/routes/people.ts";

/** What people are called, by their ids; those that are gone have no name. */
export type Names = ReadonlyMap<string, string>;
type Person = { name: string | null; email: string };

/** The names of whoever did something. @param organization null for the installation's own log */
export function useNames(events: readonly AuditEvent[], organization: InOrganization | null): Names {
  const ids = [
    ...new Set(events.flatMap(({ actor: { kind, id } }) => (kind === "user" && id !== null ? [id] : []))),
  ];
  const read = (id: string, signal: AbortSignal): Promise<Person> =>
    organization === null
      ? get(at(adminGetUser, { id }), {}, signal)
      : get(at(getMember, { user_id: id }), organization, signal);
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["name", organization?.organization_id ?? null, id],
      queryFn: ({ signal }: { signal: AbortSignal }) => read(id, signal),
      // Who has left has no name here any more.
      retry: false,
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }, index) => {
          const id = ids[index];
          return data === undefined || id === undefined ? [] : [[id, data.name ?? data.email] as const];
        }),
      ),
  });
}

/** Pages of an environment that show one of its resources. */
const PAGES: Readonly<Record<string, string>> = {
  run: "runs",
  session: "sessions",
  token: "tokens",
  deployment: "deployments",
  schedule: "schedules",
  error_group: "errors",
};
/** Those whose list shows all that there is. */
const LISTS: Readonly<Record<string, string>> = { secret: "secrets", api_key: "api-keys" };

/** The page that shows the thing; null where there is none, or it is not said where it is. */
export function pageOf(kind: string, id: string | null, environmentId: string | null): string | null {
  if (id === null || environmentId === null) return null;
  const page = Object.hasOwn(PAGES, kind) ? PAGES[kind] : undefined;
  if (page !== undefined) return `/e/${environmentId}/${page}/${encodeURIComponent(id)}`;
  const list = Object.hasOwn(LISTS, kind) ? LISTS[kind] : undefined;
  return list === undefined ? null : `/e/${environmentId}/${list}`;
}
