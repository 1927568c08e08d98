/** Where a user may look: the environments of all their projects, and the one that is looked at. */

import { getAll } from "./api.js";

/** No secret: which environment this browser showed last. */
const STORE = "keelson.environment";

const byId = (id) => document.getElementById(id);

/** `{project_id, environment_id}` of what is looked at; null while there is none. */
let selected = null;

export const selectedPlace = () => selected;

/** Looks at that environment next time, if the user may. */
export function preferPlace(environmentId) {
  localStorage.setItem(STORE, environmentId);
}

/** Reads the environments of the organizations and offers them for selection. */
export async function loadPlaces(organizations) {
  const projects = [];
  for (const { id } of organizations)
    projects.push(...(await getAll("/api/projects", "projects", { organization_id: id })));
  const groups = await Promise.all(
    projects.map(async ({ id, name }) => ({
      name,
      projectId: id,
      environments: await getAll(`/api/projects/${id}/environments`, "environments"),
    })),
  );
  const select = byId("environment");
  select.replaceChildren(...groups.map(toOptions));
  const preferred = localStorage.getItem(STORE);
  if ([...select.options].some(({ value }) => value === preferred)) select.value = preferred;
  takeSelected();
}

function toOptions({ name, projectId, environments }) {
  const group = document.createElement("optgroup");
  group.label = name;
  // Newest first as they are listed; people look for the one they made first.
  for (const environment of environments.toReversed()) {
    const option = document.createElement("option");
    option.value = environment.id;
    option.textContent = environment.name;
    option.dataset.project = projectId;
    group.append(option);
  }
  return group;
}

/** What is selected on the page is looked at from here on. */
export function takeSelected() {
  const [option] = byId("environment").selectedOptions;
  selected =
    option === undefined ? null : { project_id: option.dataset.project, environment_id: option.value };
  if (selected !== null) preferPlace(selected.environment_id);
}
