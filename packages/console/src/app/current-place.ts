import { useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { preferredEnvironment } from "./preferred-environment.ts";
import { placesQuery, type PlaceRow } from "./session.ts";

/** The environment of the address, or, on pages that have none, the one that was looked at last. */
export function usePlaceRow(): PlaceRow | null {
  const { environmentId } = useParams({ strict: false });
  const { data: places } = useSuspenseQuery(placesQuery);
  const wanted = environmentId ?? preferredEnvironment();
  return places.find(({ environment }) => environment.id === wanted) ?? places[0] ?? null;
}
