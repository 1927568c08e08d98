import type { Pty } from "@keelson/contract";
import { useEffect, useEffectEvent, useRef, useState, type RefObject } from "react";
import { isDark, useTheme } from "../../../app/theme.ts";
import type { Screen, ScreenSize } from "./screen.ts";

type ScreenHandlers = {
  onInput: (bytes: Uint8Array) => void;
  onLink: (url: string) => void;
};

/** A screen in `place`, as large as the terminal was when it was last seen; null until its code is loaded. */
export function useScreen(
  place: RefObject<HTMLDivElement | null>,
  { cols, rows }: Pick<Pty, "cols" | "rows">,
  handlers: ScreenHandlers,
): Screen | null {
  const [screen, setScreen] = useState<Screen | null>(null);
  const onInput = useEffectEvent((bytes: Uint8Array) => handlers.onInput(bytes));
  const onLink = useEffectEvent((url: string) => handlers.onLink(url));
  const firstSize = useRef({ cols, rows });
  const theme = useTheme();

  useEffect(() => {
    let opened: Screen | null = null;
    let isGone = false;
    void import("./screen.ts").then(({ openScreen }) => {
      if (isGone || place.current === null) return;
      opened = openScreen(place.current, {
        ...firstSize.current,
        isDark: isDark(),
        onInput: (bytes) => onInput(bytes),
        onLink: (url) => onLink(url),
        onLeave: () => place.current?.focus(),
      });
      opened.setInput(false);
      setScreen(opened);
    });
    return () => {
      isGone = true;
      opened?.dispose();
      setScreen(null);
    };
  }, [place]);

  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const apply = (): void => screen?.setDark(theme === "system" ? system.matches : theme === "dark");
    apply();
    system.addEventListener("change", apply);
    return () => system.removeEventListener("change", apply);
  }, [screen, theme]);

  return screen;
}

const SETTLED_MS = 120;

/** Keeps the screen as large as its place once it may be, and says each new size when it has settled. */
export function useFit(
  place: RefObject<HTMLDivElement | null>,
  screen: Screen | null,
  onSize: (size: ScreenSize) => void,
): void {
  const say = useEffectEvent((size: ScreenSize) => onSize(size));
  useEffect(() => {
    if (screen === null || place.current === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new ResizeObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(() => say(screen.fit()), SETTLED_MS);
    });
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [place, screen]);
}
