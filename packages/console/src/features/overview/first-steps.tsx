import type { ReactNode } from "react";
import { EnvironmentLink, TEXT_LINK } from "../../app/environment-link.tsx";
import { CopyText } from "../../ui/copy-button.tsx";
import { Card, Section } from "../../ui/page.tsx";

const TASK = `import { task } from "@keelson/sdk";

export const hello = task({
  id: "hello",
  payload: { type: "object", properties: { name: { type: "string" } } },
  run: ({ name = "world" }: { name?: string }) => \`Hello, \${name}\`,
});`;

/** What to do in an environment in which nothing has happened. */
export function FirstSteps({ isDeployed }: { isDeployed: boolean }): ReactNode {
  return (
    <Section title="First steps">
      <Card>
        <ol className="flex list-decimal flex-col gap-4 pl-5">
          {!isDeployed && (
            <>
              <li>
                <p className="mb-1">Write a task in your project, such as src/tasks/hello.ts:</p>
                <CopyText text={TASK} />
              </li>
              <li>
                <p className="mb-1">Deploy it. The current environment is that of your API key:</p>
                <CopyText text={`keelson deploy --url ${location.origin} --api-key YOUR_KEY`} />
                <p className="mt-1 text-quiet">
                  <EnvironmentLink to="api-keys" className={TEXT_LINK}>
                    Create an API key
                  </EnvironmentLink>
                  , or see the{" "}
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
