/** The version of this package; sent as `Service-CLI-Version`. A test compares it with package.json. */
export const CLI_VERSION = "0.1.0";
