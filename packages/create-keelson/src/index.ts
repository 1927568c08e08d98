export { describePlan, nextSteps } from "./describe-plan.ts";
export { planProject, toSlug, type Plan, type PlannedFile } from "./plan-project.ts";
export { VERSION } from "./version.ts";
export { writeProject } from "./write-project.ts";
