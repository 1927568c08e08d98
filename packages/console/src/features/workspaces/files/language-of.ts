const EXTENSIONS = {
  bash: ["sh", "bash", "zsh", "env"],
  c: ["c", "h", "cc", "cpp", "hpp", "cxx"],
  css: ["css", "scss", "less"],
  diff: ["diff", "patch"],
  dockerfile: ["dockerfile"],
  go: ["go", "mod"],
  ini: ["ini", "toml", "cfg", "conf", "properties", "editorconfig", "gitconfig"],
  java: ["java", "kt", "kts", "cs"],
  javascript: ["js", "mjs", "cjs", "jsx"],
  json: ["json", "jsonc", "jsonl", "webmanifest"],
  makefile: ["makefile", "mk"],
  markdown: ["md", "markdown", "mdx"],
  python: ["py", "pyi"],
  ruby: ["rb", "gemspec", "rakefile", "gemfile"],
  rust: ["rs"],
  sql: ["sql"],
  typescript: ["ts", "mts", "cts", "tsx"],
  xml: ["xml", "html", "htm", "svg", "vue", "svelte", "plist"],
  yaml: ["yaml", "yml"],
} as const;

export type Language = keyof typeof EXTENSIONS;

const LANGUAGES = new Map<string, Language>(
  Object.entries(EXTENSIONS).flatMap(([language, names]) =>
    names.map((name): [string, Language] => [name, language as Language]),
  ),
);

/** By the name's end, such as `.ts`, or by all of it, such as `Makefile`; null: shown without colours. */
export function languageOf(path: string): Language | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return LANGUAGES.get(name.slice(name.lastIndexOf(".") + 1)) ?? null;
}
