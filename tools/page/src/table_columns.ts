// Which columns of a table are shown: a list to choose from.

import { element } from "./elements.ts";
import type { Column } from "./table_data.ts";

/** A list that opens; `shown` is changed, and then `changed` called. */
export function mountColumns(columns: readonly Column[], shown: Set<string>, changed: () => void): HTMLElement {
  const list = element("div", { class: "list", role: "group", "aria-label": "Columns" });
  for (const column of columns) {
    const box = element("input", { type: "checkbox" });
    box.checked = shown.has(column.name);
    box.addEventListener("change", () => {
      if (box.checked) shown.add(column.name);
      else shown.delete(column.name);
      changed();
    });
    const label = element("label", {}, box, " ", column.label);
    if (column.definition) label.title = column.definition;
    list.append(label);
  }
  const made = element("details", { class: "columns" }, element("summary", {}, "Columns"), list);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    made.open = false;
    made.querySelector("summary")!.focus();
  });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Node && !made.contains(event.target)) made.open = false;
  });
  return made;
}
