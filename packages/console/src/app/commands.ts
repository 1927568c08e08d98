import { useSuspenseQuery } from "@tanstack/react-query";
import { usePlaceRow } from "./current-place.ts";
import { ENVIRONMENT_PAGES, ORGANIZATION_PAGES, pageAddress, SYSTEM_PAGES } from "./navigation.ts";
import { useFoundCommands } from "./found-commands.ts";
import { placesQuery, useUser, type PlaceRow } from "./session.ts";
import { chooseTheme, THEMES } from "./theme.ts";

/** Where it leads, or what it does. */
export type Command = { label: string; detail: string } & ({ to: string } | { run: () => void });

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

/** What the text may mean: pages and actions at once, and what is found of the environment once it is there. */
export function useCommands(text: string): Command[] {
  const place = usePlaceRow();
  const user = useUser();
  const { data: places } = useSuspenseQuery(placesQuery);
  const wanted = text.trim();
  const found = useFoundCommands(
    place === null ? null : { project_id: place.project.id, environment_id: place.environment.id },
    text,
  );
  const known = [
    ...(place === null ? [] : placeCommands(place)),
    ...(user.is_admin ? systemCommands() : []),
    ...places.map(({ project, environment }) => ({
      label: `${project.name} / ${environment.name}`,
      detail: "Environment",
      to: `/e/${environment.id}`,
    })),
    ...THEMES.map((theme) => ({
      label: `Use the ${theme} theme`,
      detail: "Action",
      run: () => chooseTheme(theme),
    })),
  ].filter(({ label, detail }) => `${label} ${detail}`.toLowerCase().includes(wanted.toLowerCase()));
  return [
    ...(place === null || wanted === "" ? [] : idCommands(place, wanted.toLowerCase())),
    ...known,
    ...found,
    ...(place === null || wanted === "" ? [] : [searchCommand(place, wanted)]),
  ].slice(0, MAX_SHOWN);
}

const baseOf = ({ environment }: PlaceRow): string => `/e/${environment.id}`;

const idCommands = (place: PlaceRow, id: string): Command[] =>
  ID_PAGES.filter(([prefix]) => id.startsWith(prefix)).map(([, page, noun]) => ({
    label: `${noun} ${id}`,
    detail: "by id",
    to: `${baseOf(place)}/${page}/${id}`,
  }));

const placeCommands = (place: PlaceRow): Command[] => [
  ...ENVIRONMENT_PAGES.map(({ label, path }) => ({
    label,
    detail: place.environment.name,
    to: pageAddress(baseOf(place), path),
  })),
  ...ORGANIZATION_PAGES.map(({ label, path }) => ({
    label,
    detail: place.organization.name,
    to: `/organizations/${place.organization.id}/${path}`,
  })),
];

const systemCommands = (): Command[] =>
  SYSTEM_PAGES.map(({ label, path }) => ({ label, detail: "System", to: pageAddress("/system", path) }));

const searchCommand = (place: PlaceRow, wanted: string): Command => ({
  label: `Search runs for ${wanted}`,
  detail: "Action",
  to: `${baseOf(place)}/runs?${new URLSearchParams({ search: JSON.stringify(wanted) }).toString()}`,
});
