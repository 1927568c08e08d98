/**
 * The version of this package; sent as `Service-SDK-Version` and recorded in bundles. A test compares it with
 * package.json.
 */
export const SDK_VERSION = "0.1.0";
