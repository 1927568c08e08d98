/** How the import of a file that is no code is read. */
export type BuildLoader = "text" | "json" | "base64" | "binary" | "dataurl";

/** A project, as `keelson.config.ts` describes it. */
export type ProjectConfig = {
  /** The slug of the project at the server. */
  project?: string;
  /** Patterns of the files that declare tasks and actors. Default: all files in `src/tasks` and `tasks`. */
  tasks?: readonly string[];
  /** How the code is bundled. */
  build?: {
    /** Patterns of files that are deployed beside the code, at the same paths: `["prompts/**"]`. */
    assets?: readonly string[];
    /**
     * Packages that are deployed as they are, with the files that they need, instead of being bundled. Those with native code
     * are found without being named.
     */
    external?: readonly string[];
    /** How files are imported, by extension: `{ ".md": "text" }`. */
    loader?: Readonly<Record<`.${string}`, BuildLoader>>;
  };
};

/** Gives the configuration as it is; for completion and types in `keelson.config.ts`, whose default export it is. */
export const defineConfig = (config: ProjectConfig): ProjectConfig => config;
