import { useSuspenseQuery } from "@tanstack/react-query";
import { usePlaceRow } from "./current-place.ts";
import { ENVIRONMENT_PAGES, ORGANIZATION_PAGES, pageAddress, SYSTEM_PAGES } from "./navigation.ts";
import { placesQuery, useUser } from "./session.ts";

export type Command = { label: string; detail: string; to: string };

/** What an id's prefix says it is, and under which page it is shown. */
const ID_PAGES: readonly (readonly [prefix: string, page: string, noun: string])[] = [
  ["run_", "runs", "Run"],
  ["sess_", "sessions", "Session"],
  ["tok_", "tokens", "Token"],
  ["ws_", "workspaces", "Workspace"],
  ["sched_", "schedules", "Schedule"],
  ["dep_", "deployments", "Deployment"],
];

const MAX_SHOWN = 30;

/** What the text may mean, the likeliest first. */
export function useCommands(text: string): Command[] {
  const place = usePlaceRow();
  const user = useUser();
  const { data: places } = useSuspenseQuery(placesQuery);
  const wanted = text.trim().toLowerCase();
  const commands: Command[] = [];
  if (place !== null) {
    const base = `/e/${place.environment.id}`;
    for (const [prefix, page, noun] of ID_PAGES)
      if (wanted.startsWith(prefix))
        commands.push({ label: `${noun} ${wanted}`, detail: "by id", to: `${base}/${page}/${wanted}` });
    for (const { label, path } of ENVIRONMENT_PAGES)
      commands.push({ label, detail: place.environment.name, to: pageAddress(base, path) });
    for (const { label, path } of ORGANIZATION_PAGES) {
      const { id, name } = place.organization;
      commands.push({ label, detail: name, to: `/organizations/${id}/${path}` });
    }
  }
  if (user.is_admin)
    for (const { label, path } of SYSTEM_PAGES)
      commands.push({ label, detail: "System", to: pageAddress("/system", path) });
  for (const { project, environment } of places)
    commands.push({
      label: `${project.name} / ${environment.name}`,
      detail: "Environment",
      to: `/e/${environment.id}`,
    });
  return commands
    .filter(({ label, detail }) => `${label} ${detail}`.toLowerCase().includes(wanted))
    .slice(0, MAX_SHOWN);
}
