import { toSlug } from "@keelson/create-keelson";
import type { Environment, Project } from "@keelson/sdk";
import type { Cli, UserClient } from "./cli.ts";
import { configuredProject } from "./configured-project.ts";
import { usageError } from "./exit-codes.ts";
import { listAll, WHOLE } from "./list-all.ts";
import type { PlaceIds } from "./session-fetch.ts";

export type PlaceOptions = { organization?: string; project?: string; environment?: string };

type Named = { id: string; slug: string };

/** What to type when nothing has the name. A name that is no slug could not be found after it was created, either. */
function adviceFor(what: "project" | "environment", named: string): string {
  const slug = toSlug(named);
  const use = slug === named ? "" : ` ${JSON.stringify(named)} is not a slug: use ${slug} instead.`;
  return `Name one of them with --${what}, or create it: \`keelson ${what} create ${slug}\`.${use}`;
}

/** The one that was named by id or slug; else the first that is there of those by default; else the only one. */
function choose<Row extends Named>(
  rows: readonly Row[],
  what: "project" | "environment",
  named: string | null,
  byDefault: readonly (string | null | undefined)[],
): Row {
  const isNamed =
    (wanted: string) =>
    ({ id, slug }: Row) =>
      id === wanted || slug === wanted;
  const known = byDefault.flatMap((wanted) => (wanted ? rows.filter(isNamed(wanted)) : []));
  const found =
    named !== null ? rows.find(isNamed(named)) : (known[0] ?? (rows.length === 1 ? rows[0] : undefined));
  if (found !== undefined) return found;
  const slugs = rows.map(({ slug }) => slug).join(", ");
  const keep = what === "environment" ? ", or keep one with `keelson environment use <environment>`" : "";
  throw usageError(
    named === null
      ? `Say which ${what} with --${what}: ${slugs || "there is none yet"}${slugs === "" ? "" : keep}`
      : `There is no ${what} ${named}; there are: ${slugs || "none"}. ${adviceFor(what, named)}`,
  );
}

export async function findProject(
  cli: Cli,
  { client, credentials }: UserClient,
  { organization, project }: PlaceOptions,
): Promise<Project> {
  const projects = await listAll(
    client.projects.list({ ...WHOLE, organizationId: organization }, { signal: cli.host.signal }),
  );
  const named = project ?? cli.place().project ?? (await configuredProject(cli.host.cwd));
  return choose(projects, "project", named, [credentials.projectId, credentials.kept?.projectId]);
}

export async function findEnvironment(
  cli: Cli,
  user: UserClient,
  options: PlaceOptions,
): Promise<Environment> {
  const project = await findProject(cli, user, options);
  const rows = await listAll(user.client.environments.list(project.id, WHOLE, { signal: cli.host.signal }));
  const { environmentId, kept } = user.credentials;
  const named = options.environment ?? cli.place().environment;
  return choose(rows, "environment", named, [kept?.environments[project.id], environmentId]);
}

/** The environment that a person acts in. Ids that are known are not looked up. */
export async function findPlaceIds(cli: Cli, user: UserClient): Promise<PlaceIds> {
  const { kept, projectId, environmentId } = user.credentials;
  if (!cli.place().isExplicit && (await configuredProject(cli.host.cwd)) === null) {
    const keptEnvironment = kept?.environments[kept.projectId];
    if (kept !== null && keptEnvironment !== undefined)
      return { projectId: kept.projectId, environmentId: keptEnvironment };
    if (projectId !== null && environmentId !== null) return { projectId, environmentId };
  }
  const environment = await findEnvironment(cli, user, {});
  return { projectId: environment.projectId, environmentId: environment.id };
}
