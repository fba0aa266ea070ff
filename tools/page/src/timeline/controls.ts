// The line of controls above a timeline: search, what rows are, what colours mean, and zooming for those without a wheel.

import { button, element } from "./elements.ts";
import type { RowKind } from "./rows.ts";

export interface Acts {
  search(text: string): string;
  rows(kind: RowKind): void;
  colours(key: string): void;
  zoom(factor: number): void;
  zoomRows(factor: number): void;
  fit(): void;
}

export interface Controls {
  bar: HTMLElement;
  search: HTMLInputElement;
  said: HTMLElement;
}

function choice(label: string, options: { key: string; label: string }[], act: (key: string) => void): HTMLLabelElement {
  const select = element("select", "", { "aria-label": label });
  for (const option of options) select.append(element("option", "", { value: option.key }, option.label));
  select.addEventListener("change", () => act(select.value));
  return element("label", "", {}, element("span", "", {}, label), select);
}

export function controls(kinds: { key: RowKind; label: string }[], schemes: { key: string; label: string }[], acts: Acts): Controls {
  const search = element("input", "", {
    type: "search",
    placeholder: "number or name",
    "aria-label": "search for a job by its number, name, user, application or technique; Enter shows the next one",
  });
  const said = element("span", "timeline-found", { role: "status" });
  const form = element("form", "timeline-search", { role: "search" }, element("label", "", {}, element("span", "", {}, "job"), search), said);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    said.textContent = acts.search(search.value);
  });
  search.addEventListener("input", () => (said.textContent = ""));
  const zoom = element(
    "span",
    "timeline-zoom",
    { role: "group", "aria-label": "zoom" },
    button("−", "show more time (−)", () => acts.zoom(1.6)),
    button("+", "show less time (+)", () => acts.zoom(1 / 1.6)),
    button("⇕", "higher rows (Shift and +)", () => acts.zoomRows(1.6)),
    button("⇳", "lower rows (Shift and −)", () => acts.zoomRows(1 / 1.6)),
    button("all", "show everything (0)", () => acts.fit()),
  );
  const bar = element(
    "div",
    "timeline-controls",
    {},
    form,
    choice("rows", kinds, (key) => acts.rows(key as RowKind)),
    choice("colour by", schemes, acts.colours),
    zoom,
  );
  return { bar, search, said };
}
