// Light or dark: as the system has it, or as somebody chooses.

import { element } from "./elements.ts";
import { keep, kept } from "./kept.ts";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

/** Put the switch into its place. Whoever draws on a canvas hears `twolevel:theme` on the document. */
export function mountTheme(place: HTMLElement): void {
  const found = kept<string>("theme");
  let theme: Theme = THEMES.find((one) => one === found) ?? "auto";
  const button = element("button", { type: "button", class: "theme" });
  const show = (): void => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    button.textContent = `Theme: ${theme}`;
    document.dispatchEvent(new CustomEvent("twolevel:theme"));
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    keep("theme", theme);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  place.append(button);
  show();
}
