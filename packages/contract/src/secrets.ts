/** States and names of secrets. */

export const SECRET_STATUSES = ["active", "revoked"] as const;
export type SecretStatus = (typeof SECRET_STATUSES)[number];

/** As an environment variable is named. */
export const SECRET_NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_]{0,127}$";
