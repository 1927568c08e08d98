import type { OauthAccess } from "@keelson/contract";

/** What a person who looks and does not act lacks. */
const ACTS = "tasks.start";

/** What of what a client asks for a person with these permissions can give it; to look is the first choice. */
export const accessChoices = (
  asked: OauthAccess,
  permissions: readonly string[],
): [value: OauthAccess, label: string][] => [
  ["read", "Look"],
  ...(asked === "write" && permissions.includes(ACTS)
    ? [["write", "Look and act"] satisfies [OauthAccess, string]]
    : []),
];
