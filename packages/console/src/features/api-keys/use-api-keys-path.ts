import { usePlace } from "../../api/place.ts";

export function useApiKeysPath(): string {
  const { project_id, environment_id } = usePlace();
  return `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
}
