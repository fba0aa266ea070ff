// Elements of a page, with texts that are only ever texts.

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  name: string,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (name) made.className = name;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const made = element("button", "", { type: "button", title: label, "aria-label": label }, text);
  made.addEventListener("click", act);
  return made;
}
