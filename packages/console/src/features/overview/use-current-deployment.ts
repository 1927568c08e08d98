import type { Deployment } from "@keelson/contract";
import { ApiError } from "@keelson/sdk/browser";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { get } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { itemKey } from "../../api/use-item.ts";
import { getCurrentDeployment } from "../../api/routes/deployments.ts";

/** The deployment that runs start in; null while nothing has been promoted. */
export function useCurrentDeployment(refetchMs?: number): UseQueryResult<Deployment | null> {
  const place = usePlace();
  return useQuery<Deployment | null>({
    queryKey: itemKey(place.environment_id, getCurrentDeployment),
    queryFn: async ({ signal }) => {
      try {
        return await get(getCurrentDeployment, place, signal);
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
    ...(refetchMs !== undefined && { refetchInterval: refetchMs }),
  });
}
