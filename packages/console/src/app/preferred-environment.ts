/** No secret: which environment this browser showed last. */
const STORE = "keelson.environment";

export const preferredEnvironment = (): string | null => localStorage.getItem(STORE);

export const preferEnvironment = (environmentId: string): void => localStorage.setItem(STORE, environmentId);
