import { Type, type Static } from "typebox";
import { ENVIRONMENT_PERMISSIONS, PERMISSIONS, ROLES } from "../permissions.ts";
import { DisplayName, DurationText, EmailAddress, Id, Nullable, Slug, Timestamp } from "./primitives.ts";

/** Who there is: people, organizations, projects, environments, members, invitations and API keys. */

const Role = Type.Enum([...ROLES]);
const Permissions = Type.Array(Type.Enum([...ENVIRONMENT_PERMISSIONS]), {
  uniqueItems: true,
  maxItems: ENVIRONMENT_PERMISSIONS.length,
});

export const User = Type.Object(
  {
    id: Id("user"),
    email: Type.String(),
    name: Type.Union([Type.String(), Type.Null()], { examples: ["Ada"] }),
    is_admin: Type.Boolean({ description: "May use /admin/api/v1." }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "User" },
);
export type User = Static<typeof User>;

/** An organization as one of its members sees it. */
export const Organization = Type.Object(
  {
    id: Id("org"),
    name: Type.String(),
    slug: Type.String(),
    role: Role,
    permissions: Type.Array(Type.Enum([...PERMISSIONS]), {
      description: "The permissions of the role, in the organization and in all its environments.",
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Organization" },
);
export type Organization = Static<typeof Organization>;

export const Project = Type.Object(
  {
    id: Id("proj"),
    organization_id: Id("org"),
    name: Type.String(),
    slug: Type.String(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Project" },
);
export type Project = Static<typeof Project>;

export const Environment = Type.Object(
  {
    id: Id("env"),
    project_id: Id("proj"),
    name: Type.String(),
    slug: Type.String(),
    current_deployment_id: Nullable(Id("dep")),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Environment" },
);
export type Environment = Static<typeof Environment>;

/** A project or an environment. Without a slug one is made from the name. */
export const CreateNamed = Type.Object(
  { name: DisplayName, slug: Type.Optional(Slug) },
  { additionalProperties: false, $id: "CreateNamed" },
);
export type CreateNamed = Static<typeof CreateNamed>;

export const UpdateNamed = Type.Object(
  { name: Type.Optional(DisplayName), slug: Type.Optional(Slug) },
  { additionalProperties: false, $id: "UpdateNamed" },
);
export type UpdateNamed = Static<typeof UpdateNamed>;

export const ApiKey = Type.Object(
  {
    id: Id("key"),
    project_id: Id("proj"),
    environment_id: Id("env"),
    name: Type.String(),
    permissions: Type.Array(Type.String()),
    created_by: Nullable(Id("user")),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    last_used_at: Nullable(
      Type.String({ format: "date-time", description: "To the minute; absent until it is used." }),
    ),
    revoked_at: Nullable(Timestamp),
  },
  { $id: "ApiKey" },
);
export type ApiKey = Static<typeof ApiKey>;

export const CreateApiKey = Type.Object(
  {
    name: DisplayName,
    permissions: Type.Optional(Permissions),
    expires_in: Type.Optional(Nullable(DurationText)),
  },
  { additionalProperties: false, $id: "CreateApiKey" },
);
export type CreateApiKey = Static<typeof CreateApiKey>;

export const CreatedApiKey = Type.Object(
  { ...ApiKey.properties, api_key: Type.String({ description: "The key itself; shown only here." }) },
  { $id: "CreatedApiKey" },
);
export type CreatedApiKey = Static<typeof CreatedApiKey>;

export const Member = Type.Object(
  {
    user_id: Id("user"),
    organization_id: Id("org"),
    email: Type.String(),
    name: Type.Union([Type.String(), Type.Null()], { examples: ["Ada"] }),
    role: Role,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "Member" },
);
export type Member = Static<typeof Member>;

export const UpdateMember = Type.Object({ role: Role }, { additionalProperties: false, $id: "UpdateMember" });
export type UpdateMember = Static<typeof UpdateMember>;

export const INVITATION_STATUSES = ["open", "accepted", "revoked", "expired"] as const;
export type InvitationStatus = (typeof INVITATION_STATUSES)[number];

export const Invitation = Type.Object(
  {
    id: Id("inv"),
    organization_id: Id("org"),
    email: Type.String(),
    role: Role,
    status: Type.Enum([...INVITATION_STATUSES]),
    invited_by: Nullable(Id("user")),
    created_at: Timestamp,
    expires_at: Timestamp,
    accepted_at: Nullable(Timestamp),
  },
  { $id: "Invitation" },
);
export type Invitation = Static<typeof Invitation>;

export const CreateInvitation = Type.Object(
  { email: EmailAddress, role: Role },
  { additionalProperties: false, $id: "CreateInvitation" },
);
export type CreateInvitation = Static<typeof CreateInvitation>;

/** How a new session is given to a caller; `cookie` is for pages of the server itself. */
export const SessionForm = Type.Enum(["token", "cookie"], {
  description: "How the session is returned: as `token` in the response (default), or as a cookie.",
});

export const AcceptInvitation = Type.Object(
  {
    token: Type.String({ minLength: 1, maxLength: 128, description: "From the invitation's link." }),
    session: Type.Optional(SessionForm),
  },
  { additionalProperties: false, $id: "AcceptInvitation" },
);
export type AcceptInvitation = Static<typeof AcceptInvitation>;

export const AcceptedInvitation = Type.Object(
  {
    organization: Organization,
    user: User,
    token: Nullable(
      Type.String({
        description: "The session of a new user; null for a caller who was signed in, or who gets a cookie.",
      }),
    ),
  },
  { $id: "AcceptedInvitation" },
);
export type AcceptedInvitation = Static<typeof AcceptedInvitation>;

/** Whom the credential stands for: a user, or an API key. */
export const Me = Type.Object(
  {
    user: Nullable(User),
    api_key: Nullable(ApiKey),
    run: Nullable(
      Type.Object({
        id: Id("run"),
        project_id: Id("proj"),
        environment_id: Id("env"),
        permissions: Type.Array(Type.String()),
      }),
    ),
    organizations: Type.Array(Organization),
    csrf_token: Nullable(
      Type.String({
        description: "With a cookie: the value of X-CSRF-Token for requests that change something.",
      }),
    ),
  },
  { $id: "Me" },
);
export type Me = Static<typeof Me>;
