import {
  Activity,
  Bot,
  Box,
  Bug,
  CalendarClock,
  FolderTree,
  Gauge,
  Inbox,
  KeyRound,
  ListChecks,
  Lock,
  MessagesSquare,
  Rocket,
  type LucideIcon,
} from "lucide-react";

export type NavigationItem = { label: string; path: string; icon: LucideIcon };

/** The pages of an environment, in the order in which they stand in the shell and in the command palette. */
export const ENVIRONMENT_PAGES: readonly NavigationItem[] = [
  { label: "Overview", path: "", icon: Gauge },
  { label: "Runs", path: "runs", icon: Activity },
  { label: "Errors", path: "errors", icon: Bug },
  { label: "Tasks", path: "tasks", icon: ListChecks },
  { label: "Actors", path: "actors", icon: Bot },
  { label: "Sessions", path: "sessions", icon: MessagesSquare },
  { label: "Tokens", path: "tokens", icon: Inbox },
  { label: "Workspaces", path: "workspaces", icon: FolderTree },
  { label: "Schedules", path: "schedules", icon: CalendarClock },
  { label: "Deployments", path: "deployments", icon: Rocket },
  { label: "Sandboxes", path: "sandboxes", icon: Box },
  { label: "Secrets", path: "secrets", icon: Lock },
  { label: "API keys", path: "api-keys", icon: KeyRound },
];

/** The pages of an organization. */
export const ORGANIZATION_PAGES = [
  { label: "Projects", path: "projects" },
  { label: "Members", path: "members" },
  { label: "Invitations", path: "invitations" },
  { label: "Audit log", path: "audit-log" },
] as const;

/** The pages of the installation. */
export const SYSTEM_PAGES = [
  { label: "System", path: "" },
  { label: "Organizations", path: "organizations" },
  { label: "Users", path: "users" },
  { label: "Worker groups", path: "worker-groups" },
  { label: "Workers", path: "workers" },
  { label: "Enrollment tokens", path: "enrollment-tokens" },
  { label: "Audit log", path: "audit-log" },
] as const;

/** The address of a page below another one, such as `/e/env_…` and `runs`. */
export const pageAddress = (base: string, path: string): string => (path === "" ? base : `${base}/${path}`);
