import type * as Server from "./server.ts";

/**
 * Loads the code of the server, which takes longer than all the rest of this package. Whoever has something to wait for until a
 * server can start, such as its database, loads it meanwhile.
 */
export const loadServer = (): Promise<typeof Server> => {
  const loading = import("./server.ts");
  // Whoever awaits it later is told; until then a failure is no unhandled one.
  loading.catch(() => undefined);
  return loading;
};
