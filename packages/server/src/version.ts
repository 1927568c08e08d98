/** The version of this package. A test compares it with package.json. */
export const SERVER_VERSION = "0.1.0";
