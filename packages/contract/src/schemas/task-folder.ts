import { Type } from "typebox";
import { LIMITS } from "../limits.ts";
import { ISOLATIONS } from "../workspaces.ts";

const Folder = Type.Object(
  {
    path: Type.String({
      minLength: 2,
      maxLength: 4095,
      description: "Absolute, and the same for the task. A worker that lacks it fails the attempt.",
    }),
    writable: Type.Optional(Type.Boolean({ description: "Default: false." })),
  },
  { additionalProperties: false },
);

export const TaskFolders = Type.Array(Folder, {
  maxItems: LIMITS.taskFolders,
  description: 'Folders of the worker\'s machine that the runs see. Needs `isolation: "namespace"`.',
});

export const TaskIsolation = Type.Enum([...ISOLATIONS], {
  description:
    "The isolation that its runs require. A worker without it gets none of them. Default `process`.",
});
