import type { CreateNamed, Environment, Project } from "@keelson/contract";
import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FolderPlus, Pencil, Plus } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useChange } from "../../api/use-action.ts";
import { useRows } from "../../api/use-rows.ts";
import { at } from "../../api/route.ts";
import { createEnvironment, updateEnvironment } from "../../api/routes/environments.ts";
import { createProject, listProjects, updateProject } from "../../api/routes/projects.ts";
import { pageAddress } from "../../app/navigation.ts";
import { placesQuery } from "../../app/session.ts";
import { Loading } from "../../ui/async.tsx";
import { Id } from "../../ui/copy-button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Card, Section } from "../../ui/page.tsx";
import { NameDialog } from "./name-dialog.tsx";
import { OrganizationPage } from "./organization-page.tsx";
import { mayManage, useOrganization } from "./use-organization.ts";

/** Projects are read with the places that the switcher shows, so a change shows everywhere. */
const PLACES = placesQuery.queryKey;

export function ProjectsPage(): ReactNode {
  const organization = useOrganization();
  const scope = { organization_id: organization.id };
  const list = useRows(PLACES, listProjects, scope);
  const create = useChange(
    PLACES,
    (names: CreateNamed) => send(createProject, { body: { ...scope, ...names } }),
    {
      done: ({ name }) => `${name} is there.`,
      isShownInPlace: true,
    },
  );
  return (
    <OrganizationPage
      title="Projects"
      actions={
        mayManage(organization) && (
          <NameDialog
            label="Create a project"
            icon={<FolderPlus size={15} aria-hidden />}
            kind="primary"
            verb="Create"
            onSubmit={(names) => create.mutateAsync(names)}
          />
        )
      }
    >
      {list.error !== null && <ErrorPanel error={list.error} onRetry={list.refetch} />}
      {list.isPending && <Loading />}
      {!list.isPending && list.rows.length === 0 && (
        <Empty title="No projects yet" command="keelson project create shop" />
      )}
      {list.rows.map((project) => (
        <ProjectCard key={project.id} project={project} />
      ))}
    </OrganizationPage>
  );
}

function ProjectCard({ project }: { project: Project }): ReactNode {
  const isManager = mayManage(useOrganization());
  const params = { project_id: project.id };
  const { data: places } = useSuspenseQuery(placesQuery);
  const environments = places.filter((place) => place.project.id === project.id);
  const rename = useChange(PLACES, (names: CreateNamed) => send(at(updateProject, params), { body: names }), {
    isShownInPlace: true,
  });
  const create = useChange(
    PLACES,
    (names: CreateNamed) => send(at(createEnvironment, params), { body: names }),
    {
      done: ({ name }) => `${project.name} has the environment ${name}.`,
      isShownInPlace: true,
    },
  );
  return (
    <Card>
      <Section
        title={project.name}
        actions={
          isManager && (
            <div className="flex gap-2">
              <NameDialog
                label="Rename"
                icon={<Pencil size={14} aria-hidden />}
                verb="Rename"
                of={project}
                onSubmit={(names) => rename.mutateAsync(names)}
              />
              <NameDialog
                label="Create an environment"
                icon={<Plus size={15} aria-hidden />}
                verb="Create"
                onSubmit={(names) => create.mutateAsync(names)}
              />
            </div>
          )
        }
      >
        <p className="text-xs text-quiet">
          {project.slug} · <Id value={project.id} />
        </p>
        <ul className="divide-y divide-line">
          {environments.map(({ environment }) => (
            <EnvironmentRow key={environment.id} environment={environment} isManager={isManager} />
          ))}
        </ul>
      </Section>
    </Card>
  );
}

function EnvironmentRow({
  environment,
  isManager,
}: {
  environment: Environment;
  isManager: boolean;
}): ReactNode {
  const params = { project_id: environment.project_id, environment_id: environment.id };
  const rename = useChange(
    PLACES,
    (names: CreateNamed) => send(at(updateEnvironment, params), { body: names }),
    {
      isShownInPlace: true,
    },
  );
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 py-2">
      <div className="min-w-0">
        <Link
          to={pageAddress(`/e/${environment.id}`, "")}
          className="font-medium text-accent hover:underline"
        >
          {environment.name}
        </Link>
        <span className="block text-xs text-quiet">
          {environment.slug} · <Id value={environment.id} />
        </span>
      </div>
      {isManager && (
        <NameDialog
          label="Rename"
          icon={<Pencil size={14} aria-hidden />}
          verb="Rename"
          of={environment}
          onSubmit={(names) => rename.mutateAsync(names)}
        />
      )}
    </li>
  );
}
