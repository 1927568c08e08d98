/**
 * What a process of the product needs of the test's own environment, and nothing else of it. With the cache it does not
 * compile the sources again that each process before it has compiled.
 */
export const bareEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    ["PATH", "HOME", "NODE_COMPILE_CACHE"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
