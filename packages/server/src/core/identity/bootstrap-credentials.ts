import { CREDENTIAL_KINDS, parseCredential, type CredentialKind } from "@keelson/contract";
import type { MakeCredential } from "../credentials/make-credential.ts";

/** What a first start makes valid, in plain: known only to whoever made them. */
export type BootstrapCredentials = {
  apiKey: string;
  userToken: string;
  adminKey: string;
  capacityKey: string;
  enrollmentToken: string;
};

/** As `credentials.json` and KEELSON_CREDENTIALS have them. */
export type BootstrapFields = Record<keyof typeof KINDS, string>;

const KINDS = {
  api_key: CREDENTIAL_KINDS.apiKey,
  user_token: CREDENTIAL_KINDS.userSession,
  admin_key: CREDENTIAL_KINDS.admin,
  capacity_key: CREDENTIAL_KINDS.capacity,
  enrollment_token: CREDENTIAL_KINDS.enrollment,
} as const satisfies Record<string, CredentialKind>;

export const toBootstrapFields = (credentials: BootstrapCredentials): BootstrapFields => ({
  api_key: credentials.apiKey,
  user_token: credentials.userToken,
  admin_key: credentials.adminKey,
  capacity_key: credentials.capacityKey,
  enrollment_token: credentials.enrollmentToken,
});

export const makeEnrollmentToken = (make: MakeCredential): string => make(CREDENTIAL_KINDS.enrollment).text;

/** One credential of each kind that a local user, operator and agent need. Valid once a server has stored them. */
export const makeBootstrapCredentials = (make: MakeCredential): BootstrapCredentials => ({
  apiKey: make(KINDS.api_key).text,
  userToken: make(KINDS.user_token).text,
  adminKey: make(KINDS.admin_key).text,
  capacityKey: make(KINDS.capacity_key).text,
  enrollmentToken: makeEnrollmentToken(make),
});

/** Credentials that an operator made before the first start; the name of the first field that is none otherwise. */
export function parseBootstrapCredentials(text: string): BootstrapCredentials | { wrong: string } {
  let fields: Partial<Record<string, unknown>>;
  try {
    fields = (JSON.parse(text) ?? {}) as Partial<Record<string, unknown>>;
  } catch {
    return { wrong: "its JSON" };
  }
  for (const [name, kind] of Object.entries(KINDS)) {
    const value = fields[name];
    if (typeof value !== "string" || parseCredential(value) !== kind) return { wrong: name };
  }
  const valid = fields as BootstrapFields;
  return {
    apiKey: valid.api_key,
    userToken: valid.user_token,
    adminKey: valid.admin_key,
    capacityKey: valid.capacity_key,
    enrollmentToken: valid.enrollment_token,
  };
}
