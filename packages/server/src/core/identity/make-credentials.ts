import { makeCredential } from "../credentials/make-credential.ts";
import {
  makeBootstrapCredentials,
  toBootstrapFields,
  type BootstrapFields,
} from "./bootstrap-credentials.ts";

/** Credentials for an installation that has not started yet, as KEELSON_CREDENTIALS has them. */
export const makeCredentials = (): BootstrapFields =>
  toBootstrapFields(makeBootstrapCredentials(makeCredential));
