/** The version of the packages that a new project depends on. A test compares it with package.json. */
export const VERSION = "0.1.0";
