/** Written by package managers: thousands of lines that nobody wrote. */
export const LOCK_FILES = "Lock files";
/** The name does not tell. */
export const OTHER = "Other";

/** The name that a file with this extension or name is counted under. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  ...spell("TypeScript", "ts tsx mts cts"),
  ...spell("JavaScript", "js jsx mjs cjs"),
  ...spell("CSS", "css scss sass less"),
  ...spell("HTML", "html htm xhtml"),
  ...spell("Vue", "vue"),
  ...spell("Svelte", "svelte"),
  ...spell("JSON", "json jsonc json5 jsonl"),
  ...spell("YAML", "yaml yml"),
  ...spell("TOML", "toml"),
  ...spell("XML", "xml xsd xsl"),
  ...spell("SVG", "svg"),
  ...spell("Markdown", "md mdx markdown"),
  ...spell("Text", "txt rst adoc"),
  ...spell("CSV", "csv tsv"),
  ...spell("SQL", "sql"),
  ...spell("Shell", "sh bash zsh fish"),
  ...spell("PowerShell", "ps1 psm1"),
  ...spell("Python", "py pyi pyx"),
  ...spell("Notebook", "ipynb"),
  ...spell("Ruby", "rb rake gemspec"),
  ...spell("PHP", "php"),
  ...spell("Perl", "pl pm"),
  ...spell("Lua", "lua"),
  ...spell("Go", "go"),
  ...spell("Rust", "rs"),
  ...spell("C", "c h"),
  ...spell("C++", "cc cpp cxx hh hpp hxx"),
  ...spell("C#", "cs"),
  ...spell("Objective-C", "m mm"),
  ...spell("Swift", "swift"),
  ...spell("Java", "java"),
  ...spell("Kotlin", "kt kts"),
  ...spell("Scala", "scala sbt"),
  ...spell("Clojure", "clj cljs cljc edn"),
  ...spell("Elixir", "ex exs"),
  ...spell("Erlang", "erl hrl"),
  ...spell("Haskell", "hs"),
  ...spell("OCaml", "ml mli"),
  ...spell("Zig", "zig"),
  ...spell("Dart", "dart"),
  ...spell("R", "r"),
  ...spell("Julia", "jl"),
  ...spell("Assembly", "s asm"),
  ...spell("Terraform", "tf tfvars"),
  ...spell("Nix", "nix"),
  ...spell("Protocol Buffers", "proto"),
  ...spell("GraphQL", "graphql gql"),
  ...spell("CMake", "cmake"),
};

const LOCK_FILE_NAMES =
  "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock cargo.lock go.sum poetry.lock uv.lock gemfile.lock composer.lock flake.lock";

const NAMES: Readonly<Record<string, string>> = {
  ...spell(LOCK_FILES, LOCK_FILE_NAMES),
  ...spell("Make", "makefile gnumakefile"),
  ...spell("Dockerfile", "dockerfile containerfile"),
  ...spell("CMake", "cmakelists.txt"),
  ...spell("Ruby", "gemfile rakefile"),
  ...spell("Text", "license copying readme notice authors changelog"),
};

function spell(language: string, words: string): Record<string, string> {
  return Object.fromEntries(words.split(" ").map((word) => [word, language]));
}

/** The language of a file by its name alone. */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (Object.hasOwn(NAMES, name)) return NAMES[name] as string;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? name.slice(dot + 1) : "";
  return Object.hasOwn(EXTENSIONS, extension) ? (EXTENSIONS[extension] as string) : OTHER;
}
