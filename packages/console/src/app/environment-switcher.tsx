import { useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { inputClass } from "../ui/field.tsx";
import { usePlaceRow } from "./current-place.ts";
import { placesQuery, type PlaceRow } from "./session.ts";

/** Another environment opens on its overview: what is looked at belongs to this one. */
export function EnvironmentSwitcher(): ReactNode {
  const { data: places } = useSuspenseQuery(placesQuery);
  const { environmentId } = useParams({ strict: false });
  const current = usePlaceRow();
  const navigate = useNavigate();
  if (current === null) return null;
  const hasManyOrganizations = new Set(places.map(({ organization }) => organization.id)).size > 1;
  const groupOf = ({ organization, project }: PlaceRow): string =>
    hasManyOrganizations ? `${organization.name} / ${project.name}` : project.name;
  const groups = Map.groupBy(places, ({ project }) => project.id);
  return (
    <select
      aria-label="Environment"
      className={`${inputClass} max-w-[45vw] min-w-0 sm:max-w-72`}
      style={{ width: "auto" }}
      value={environmentId ?? current.environment.id}
      onChange={({ target }) =>
        void navigate({ to: "/e/$environmentId", params: { environmentId: target.value } })
      }
    >
      {[...groups.values()].map((rows) => (
        <optgroup key={rows[0]?.project.id} label={rows[0] === undefined ? "" : groupOf(rows[0])}>
          {rows.map((row) => (
            <option key={row.environment.id} value={row.environment.id}>
              {row.project.name} / {row.environment.name}
            </option>
          ))}
        </optgroup>
      ))}
    </select>
  );
}
