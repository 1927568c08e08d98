import type { Environment, Project } from "@keelson/contract";
import type { Cli, UserClient } from "./cli.ts";
import { usageError } from "./exit-codes.ts";
import { listAll } from "./list-all.ts";

export type PlaceOptions = { organization?: string; project?: string; environment?: string };

type Named = { id: string; slug: string };

/** The one that was named by id or slug; else the one that is there by default; else the only one. */
function choose<Row extends Named>(
  rows: readonly Row[],
  what: string,
  named: string | undefined,
  byDefault: string | null,
): Row {
  const wanted = named ?? byDefault;
  const found =
    wanted === null
      ? rows.length === 1
        ? rows[0]
        : undefined
      : rows.find(({ id, slug }) => id === wanted || slug === wanted);
  if (found !== undefined) return found;
  const slugs = rows.map(({ slug }) => slug).join(", ");
  throw usageError(
    named === undefined
      ? `Say which ${what} with --${what}: ${slugs || `there is none yet`}`
      : `There is no ${what} ${named}; there are: ${slugs || "none"}`,
  );
}

export async function findProject(
  cli: Cli,
  { client, credentials }: UserClient,
  { organization, project }: PlaceOptions,
): Promise<Project> {
  const query = { organization_id: organization };
  const projects = await listAll<Project>(client, "/api/projects", "projects", query, cli.host.signal);
  return choose(projects, "project", project, credentials.projectId);
}

export async function findEnvironment(
  cli: Cli,
  user: UserClient,
  options: PlaceOptions,
): Promise<Environment> {
  const project = await findProject(cli, user, options);
  const path = `/api/projects/${project.id}/environments`;
  const rows = await listAll<Environment>(user.client, path, "environments", {}, cli.host.signal);
  return choose(rows, "environment", options.environment, user.credentials.environmentId);
}
