import { useSuspenseQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { useEffect, useMemo, type ReactNode } from "react";
import { PlaceContext } from "../api/place.ts";
import { NotFound } from "./not-found.tsx";
import { preferEnvironment } from "./preferred-environment.ts";
import { placesQuery } from "./session.ts";

/** Gives the pages below the environment of the address. Another environment shows other pages, never old rows. */
export function EnvironmentLayout(): ReactNode {
  const { environmentId } = useParams({ from: "/signed-in/e/$environmentId" });
  const { data: places } = useSuspenseQuery(placesQuery);
  const found = places.find(({ environment }) => environment.id === environmentId);
  const projectId = found?.project.id;
  const place = useMemo(
    () => (projectId === undefined ? null : { project_id: projectId, environment_id: environmentId }),
    [projectId, environmentId],
  );
  useEffect(() => {
    if (place !== null) preferEnvironment(environmentId);
  }, [place, environmentId]);
  if (place === null) return <NotFound />;
  return (
    <PlaceContext key={environmentId} value={place}>
      <Outlet />
    </PlaceContext>
  );
}
