import { createMakeCredential } from "../credentials/make-credential.ts";
import {
  makeBootstrapCredentials,
  toBootstrapFields,
  type BootstrapFields,
} from "./bootstrap-credentials.ts";

/**
 * Credentials for an installation that has not started yet, as KEELSON_CREDENTIALS has them.
 *
 * @param cell its KEELSON_CELL; null when it will have none
 */
export const makeCredentials = (cell: string | null = null): BootstrapFields =>
  toBootstrapFields(makeBootstrapCredentials(createMakeCredential(cell)));
