import type { ReactNode } from "react";
import { Card, Section } from "../../ui/page.tsx";
import { titleOfWindow, useMetricsWindow, WindowSwitch } from "./metrics-window.tsx";

export const ENVIRONMENT_CHARTS = 6;
export const ENTRYPOINT_CHARTS = 3;

/** Where charts are, with the choice of their window. */
export function ChartSection({ children }: { children: ReactNode }): ReactNode {
  return (
    <Section title={titleOfWindow(useMetricsWindow())} actions={<WindowSwitch />}>
      {children}
    </Section>
  );
}

/** Charts beside each other. Without them, their places: nothing moves when they come. */
export const ChartGrid = ({ count, children }: { count: number; children?: ReactNode }): ReactNode => (
  <div
    className="grid grid-cols-[minmax(0,1fr)] gap-4 md:grid-cols-2 xl:grid-cols-3"
    aria-busy={children === undefined}
  >
    {children ??
      Array.from({ length: count }, (_, index) => (
        <Card key={index} className="h-[23rem] animate-pulse">
          {" "}
        </Card>
      ))}
  </div>
);
