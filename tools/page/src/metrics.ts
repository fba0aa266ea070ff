// Definitions of metrics are shown on hover and focus by the style alone; Escape puts one away, and a touch shows it.

export function mountMetrics(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const one of document.querySelectorAll(".defined:hover, .defined:focus-within, .defined:focus")) put(one);
  });
}

function put(metric: Element): void {
  metric.classList.add("away");
  const back = (): void => metric.classList.remove("away");
  metric.addEventListener("mouseleave", back, { once: true });
  metric.addEventListener("blur", back, { once: true });
}
