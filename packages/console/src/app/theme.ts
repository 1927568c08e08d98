import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORE = "keelson.theme";
const listeners = new Set<() => void>();

const isTheme = (value: string | null): value is Theme => THEMES.includes(value as Theme);

function readTheme(): Theme {
  const kept = localStorage.getItem(STORE);
  return isTheme(kept) ? kept : "system";
}

/** Shows the page as this browser's user chose, or as the system says. */
export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(STORE, theme);
  applyTheme(theme);
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useTheme = (): Theme => useSyncExternalStore(subscribe, readTheme);

/** Whether the page is dark now, for what draws on a canvas and cannot use the colours of the style sheet. */
export const isDark = (): boolean => {
  const theme = readTheme();
  return theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
};
