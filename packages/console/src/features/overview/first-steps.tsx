import type { ReactNode } from "react";
import { usePlaceRow } from "../../app/current-place.ts";
import { EnvironmentLink, TEXT_LINK } from "../../app/environment-link.tsx";
import { CopyText } from "../../ui/copy-button.tsx";
import { Card, Section } from "../../ui/page.tsx";

const TASK = `import { task } from "@keelson/sdk";

export const hello = task({
  id: "hello",
  payload: { type: "object", properties: { name: { type: "string" } } },
  run: ({ name = "world" }: { name?: string }) => \`Hello, \${name}\`,
});`;

/** Signing in is enough to deploy: API keys are for machines. */
function useDeployCommands(): string {
  const place = usePlaceRow();
  const lines = [`keelson login ${location.origin}`];
  if (place !== null)
    lines.push(`keelson environment use ${place.environment.slug} --project ${place.project.slug}`);
  return [...lines, "keelson deploy"].join("\n");
}

/** What to do in an environment in which nothing has happened. */
export function FirstSteps({ isDeployed }: { isDeployed: boolean }): ReactNode {
  const deployCommands = useDeployCommands();
  return (
    <Section title="First steps">
      <Card>
        <ol className="flex list-decimal flex-col gap-4 pl-5">
          {!isDeployed && (
            <>
              <li>
                <p className="mb-1">
                  Write a task in your project, such as src/tasks/hello.ts. For a new project, run{" "}
                  <code className="font-mono text-xs">npm create keelson my-app</code>.
                </p>
                <CopyText text={TASK} />
              </li>
              <li>
                <p className="mb-1">Sign in and deploy it, in the folder of your project:</p>
                <CopyText text={deployCommands} />
                <p className="mt-1 text-quiet">
                  For a machine such as a CI runner,{" "}
                  <EnvironmentLink to="api-keys" className={TEXT_LINK}>
                    create an API key
                  </EnvironmentLink>
                  . See also the{" "}
                  <EnvironmentLink to="deployments" className={TEXT_LINK}>
                    deployments
                  </EnvironmentLink>{" "}
                  that are not promoted yet.
                </p>
              </li>
            </>
          )}
          <li>
            <p className="mb-1">
              Start a run: from the form of one of the{" "}
              <EnvironmentLink to="tasks" className={TEXT_LINK}>
                tasks
              </EnvironmentLink>
              , or from the command line:
            </p>
            <CopyText text={`keelson task start ${isDeployed ? "TASK" : "hello"} --wait`} />
          </li>
          <li>
            Watch it{" "}
            <EnvironmentLink to="runs" className={TEXT_LINK}>
              among the runs
            </EnvironmentLink>
            : its steps, logs and output come as they happen.
          </li>
        </ol>
      </Card>
    </Section>
  );
}
