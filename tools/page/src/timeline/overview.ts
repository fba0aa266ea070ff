// The whole of time in one strip: how busy the machine was, and which part of it is seen below. It can be dragged.

import { type Theme, css } from "./colours.ts";
import type { TimelineData } from "./data.ts";
import { Curve } from "./series.ts";
import type { View } from "./view.ts";

export const OVERVIEW = 30;

export class Overview {
  readonly #busy: Curve | undefined;
  /** The curve alone, which stays as it is. */
  readonly #whole = document.createElement("canvas");

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly data: TimelineData,
    private readonly view: View,
    changed: () => void,
  ) {
    const busy = data.series.get("busy");
    if (busy) this.#busy = new Curve(busy);
    let held = false;
    const move = (event: PointerEvent) => {
      const { left, width } = canvas.getBoundingClientRect();
      const instant = ((event.clientX - left) / width) * view.span;
      const length = view.to - view.from;
      view.showTime(instant - length / 2, instant + length / 2);
      changed();
    };
    canvas.addEventListener("pointerdown", (event) => {
      held = true;
      canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    canvas.addEventListener("pointermove", (event) => held && move(event));
    canvas.addEventListener("pointerup", () => (held = false));
    canvas.addEventListener("pointercancel", () => (held = false));
  }

  draw(width: number, scale: number, theme: Theme): void {
    const { canvas, view } = this;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(OVERVIEW * scale)) canvas.height = Math.round(OVERVIEW * scale);
    const context = canvas.getContext("2d", { alpha: false })!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = css(theme.paper);
    context.fillRect(0, 0, width, OVERVIEW);
    if (this.#whole.width !== width) this.#drawWhole(width);
    context.drawImage(this.#whole, 0, 0, width, OVERVIEW);
    const from = Math.max(0, (view.from / view.span) * width);
    const to = Math.min(width, (view.to / view.span) * width);
    context.fillStyle = css(theme.paper);
    context.globalAlpha = 0.65;
    context.fillRect(0, 0, from, OVERVIEW);
    context.fillRect(to, 0, width - to, OVERVIEW);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(from + 1, 1, Math.max(3, to - from - 2), OVERVIEW - 2);
  }

  #drawWhole(width: number): void {
    this.#whole.width = width;
    this.#whole.height = OVERVIEW;
    if (!this.#busy) return;
    const context = this.#whole.getContext("2d")!;
    context.fillStyle = "#7e8fa3";
    const step = this.view.span / width;
    for (let x = 0; x < width; x++) {
      const high = (this.#busy.over(x * step, (x + 1) * step)[0] / this.data.cores) * (OVERVIEW - 4);
      context.fillRect(x, OVERVIEW - high, 1, high);
    }
  }
}
