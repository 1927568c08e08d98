import { ApiError } from "@keelson/sdk/browser";
import { QueryCache, QueryClient, type QueryKey, type UseQueryOptions } from "@tanstack/react-query";
import { createLiveSource } from "./live-state.ts";

/** What would be refused again is not asked again; a server that is away is asked until it is back. */
const mayPass = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === null || error.status >= 500 || error.status === 429);

const MAX_BACKOFF_MS = 5000;
const MAX_RETRIES = 3;

/** All reads that are no streams, as one: the last answer says whether the server is there. */
const reads = createLiveSource();

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onSuccess: () => reads.set("live") }),
  defaultOptions: {
    queries: {
      // A page that has nothing yet says so after some tries; one that shows something asks on at its interval.
      retry: (count, error) => {
        if (mayPass(error)) reads.set("reconnecting");
        return mayPass(error) && count < MAX_RETRIES;
      },
      retryDelay: (count) => Math.min(500 * 2 ** count, MAX_BACKOFF_MS),
      networkMode: "always",
      staleTime: 1000,
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

/** What is there already, or what is read now: for routes, which show nothing before they have it. */
export const ensureLoaded = <Data, Key extends QueryKey>(
  options: UseQueryOptions<Data, Error, Data, Key>,
): Promise<Data> => queryClient.query({ ...options, staleTime: "static" });
