import { createContext, use } from "react";

/** The environment that is looked at, as the routes of /api take it. */
export type Place = { project_id: string; environment_id: string };

export const PlaceContext = createContext<Place | null>(null);

/** Throws outside the pages of an environment. */
export function usePlace(): Place {
  const place = use(PlaceContext);
  if (place === null) throw new Error("This page belongs to no environment.");
  return place;
}
