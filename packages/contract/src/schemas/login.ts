import { Type, type Static } from "typebox";
import { SessionForm, User } from "./identity.ts";
import { ChosenGrant, OauthAccess, OauthClient } from "./oauth.ts";
import { EmailAddress, Nullable, Timestamp } from "./primitives.ts";

/** Signing in: magic links, devices (RFC 8628) and GitHub. */

const Secret = Type.String({ minLength: 1, maxLength: 128 });

/** A path of this server to go on with; never another origin. */
const ReturnPath = Type.String({
  pattern: "^/(?:[!-.0-[\\]-~][!-~]{0,2046})?$",
  description: "a path of this server, such as /device",
});

export const StartMagicLink = Type.Object(
  { email: EmailAddress, return_to: Type.Optional(ReturnPath) },
  { additionalProperties: false, $id: "StartMagicLink" },
);
export type StartMagicLink = Static<typeof StartMagicLink>;

export const StartedMagicLink = Type.Object(
  {
    nonce: Type.String({ description: "Goes with the link's token where there is no cookie." }),
    expires_at: Timestamp,
  },
  { $id: "StartedMagicLink" },
);
export type StartedMagicLink = Static<typeof StartedMagicLink>;

export const FinishMagicLink = Type.Object(
  { token: Secret, nonce: Type.Optional(Secret), session: Type.Optional(SessionForm) },
  { additionalProperties: false, $id: "FinishMagicLink" },
);
export type FinishMagicLink = Static<typeof FinishMagicLink>;

export const SignedIn = Type.Object(
  { user: User, token: Nullable(Type.String({ description: "The session; null when it is a cookie." })) },
  { $id: "SignedIn" },
);
export type SignedIn = Static<typeof SignedIn>;

export const FinishMagicLinkQuery = Type.Object({ token: Secret }, { additionalProperties: false });
export type FinishMagicLinkQuery = Static<typeof FinishMagicLinkQuery>;

export const DEVICE_STATUSES = ["pending", "approved", "denied", "consumed"] as const;
export type DeviceStatus = (typeof DEVICE_STATUSES)[number];

const ClientId = Type.String({ maxLength: 128, pattern: "^[ -~]+$", description: "What signs in, to show." });

export const StartDevice = Type.Object(
  { client_id: Type.Optional(ClientId) },
  { additionalProperties: false, $id: "StartDevice" },
);
export type StartDevice = Static<typeof StartDevice>;

/** Fields of RFC 8628, section 3.2. */
export const StartedDevice = Type.Object(
  {
    device_code: Type.String(),
    user_code: Type.String(),
    verification_uri: Type.String(),
    verification_uri_complete: Type.String(),
    expires_in: Type.Integer({ description: "Seconds." }),
    interval: Type.Integer({ description: "Seconds between two requests for the token." }),
  },
  { $id: "StartedDevice" },
);
export type StartedDevice = Static<typeof StartedDevice>;

export const DEVICE_GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";

export const AskDeviceToken = Type.Object(
  {
    device_code: Secret,
    grant_type: Type.Optional(Type.Literal(DEVICE_GRANT_TYPE)),
    client_id: Type.Optional(ClientId),
  },
  { additionalProperties: false, $id: "AskDeviceToken" },
);
export type AskDeviceToken = Static<typeof AskDeviceToken>;

/** Fields of RFC 6749, section 5.1, and who signed in. */
export const DeviceToken = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ description: "Seconds after the last use." }),
    user: User,
  },
  { $id: "DeviceToken" },
);
export type DeviceToken = Static<typeof DeviceToken>;

const UserCode = Type.String({
  maxLength: 32,
  description: "As the device shows it; spaces, hyphens and case do not matter.",
});

export const AnswerDevice = Type.Object(
  { user_code: UserCode },
  { additionalProperties: false, $id: "AnswerDevice" },
);
export type AnswerDevice = Static<typeof AnswerDevice>;

export const ApproveDevice = Type.Object(
  {
    user_code: UserCode,
    grant: Type.Optional(ChosenGrant),
  },
  { additionalProperties: false, $id: "ApproveDevice" },
);
export type ApproveDevice = Static<typeof ApproveDevice>;

/** A device authorization as the person sees it who is to answer. */
export const DeviceAuthorization = Type.Object(
  {
    user_code: Type.String(),
    client_id: Nullable(Type.String()),
    client: Nullable(
      Type.Object(
        { ...OauthClient.properties, access: OauthAccess },
        { description: "A client that asks for a grant by OAuth, and the most that it asks for." },
      ),
    ),
    status: Type.Enum([...DEVICE_STATUSES]),
    created_at: Timestamp,
    expires_at: Timestamp,
  },
  { $id: "DeviceAuthorization" },
);
export type DeviceAuthorization = Static<typeof DeviceAuthorization>;

export const StartGithubQuery = Type.Object(
  { return_to: Type.Optional(ReturnPath) },
  { additionalProperties: false },
);
export type StartGithubQuery = Static<typeof StartGithubQuery>;

/** What GitHub sends the browser back with. */
export const FinishGithubQuery = Type.Object(
  {
    code: Type.Optional(Type.String({ maxLength: 512 })),
    state: Type.Optional(Type.String({ maxLength: 512 })),
    error: Type.Optional(Type.String({ maxLength: 512 })),
    error_description: Type.Optional(Type.String({ maxLength: 2048 })),
    error_uri: Type.Optional(Type.String({ maxLength: 2048 })),
    iss: Type.Optional(Type.String({ maxLength: 512 })),
  },
  { additionalProperties: false },
);
export type FinishGithubQuery = Static<typeof FinishGithubQuery>;
