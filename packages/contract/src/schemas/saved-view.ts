import { Type, type Static } from "typebox";
import { RUN_LIST_COLUMNS, RUN_LIST_RANGES } from "../runs.ts";
import { DisplayName, Id, Nullable, Timestamp } from "./primitives.ts";
import { ListRuns } from "./run.ts";

/** A list of runs that a person gave a name. */

const { limit: _limit, cursor: _cursor, ...runFilters } = ListRuns.properties;

export const SavedViewFilter = Type.Object(
  {
    ...runFilters,
    last: Type.Optional(
      Type.Enum([...RUN_LIST_RANGES], { description: "Created within this time before the view is opened." }),
    ),
  },
  { additionalProperties: false, $id: "SavedViewFilter" },
);
export type SavedViewFilter = Static<typeof SavedViewFilter>;

const Columns = Nullable(
  Type.Array(Type.Unsafe<(typeof RUN_LIST_COLUMNS)[number]>(Type.Enum([...RUN_LIST_COLUMNS])), {
    maxItems: RUN_LIST_COLUMNS.length,
    description: "Columns besides status and task; null for the usual ones.",
  }),
);

export const SavedView = Type.Object(
  {
    id: Id("view"),
    name: DisplayName,
    filter: SavedViewFilter,
    columns: Columns,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: "SavedView" },
);
export type SavedView = Static<typeof SavedView>;

export const CreateSavedView = Type.Object(
  { name: DisplayName, filter: SavedViewFilter, columns: Type.Optional(Columns) },
  { additionalProperties: false, $id: "CreateSavedView" },
);
export type CreateSavedView = Static<typeof CreateSavedView>;

export const UpdateSavedView = Type.Object(
  {
    name: Type.Optional(DisplayName),
    filter: Type.Optional(SavedViewFilter),
    columns: Type.Optional(Columns),
  },
  { additionalProperties: false, minProperties: 1, $id: "UpdateSavedView" },
);
export type UpdateSavedView = Static<typeof UpdateSavedView>;
