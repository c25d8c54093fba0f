// Mouse, pen and fingers on an element: hover, tap, double tap, drag, wheel, pinch.

const STILL = 5; // pixels within which a press is a tap

export class Pointer {
  constructor(element, acts) {
    Object.assign(this, { element, acts });
    this.down = new Map();
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, (event) => this.release(event));
    element.addEventListener("pointerleave", () => acts.leave());
    element.addEventListener("dblclick", (event) => acts.twice(...this.place(event)));
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(event) {
    if (event.button > 0) return;
    this.down.set(event.pointerId, this.place(event));
    this.start = this.place(event);
    this.moving = false;
    if (this.down.size === 2) this.apart = this.distance();
  }

  move(event) {
    const [x, y] = this.place(event);
    const before = this.down.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") this.acts.hover(x, y);
      return;
    }
    this.down.set(event.pointerId, [x, y]);
    if (this.down.size === 2) return this.pinch();
    if (!this.moving && Math.hypot(x - this.start[0], y - this.start[1]) < STILL) return;
    if (!this.acts.zoomed()) return;
    this.moving = true;
    this.element.setPointerCapture(event.pointerId);
    this.acts.leave();
    this.acts.drag(x - before[0], y - before[1]);
  }

  release(event) {
    const was = this.down.get(event.pointerId);
    const alone = this.down.size === 1;
    this.down.delete(event.pointerId);
    if (event.type === "pointercancel" || !was || !alone) return;
    const still = Math.hypot(was[0] - this.start[0], was[1] - this.start[1]) < STILL;
    if (!this.moving && still && !this.pinched) this.acts.tap(...was);
    this.pinched = false;
  }

  distance() {
    const [[x, y], [u, v]] = [...this.down.values()];
    return Math.max(1, Math.hypot(x - u, y - v));
  }

  pinch() {
    this.pinched = true;
    const now = this.distance();
    const factor = this.apart / now;
    if (factor < 0.8 || factor > 1.25) {
      const [[x, y], [u, v]] = [...this.down.values()];
      this.acts.pinch(factor, (x + u) / 2, (y + v) / 2);
      this.apart = now;
    }
  }

  /** The wheel scrolls the page, unless the map has the focus or Ctrl is held. */
  wheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.element) return;
    event.preventDefault();
    this.turned = (this.turned ?? 0) + event.deltaY;
    if (Math.abs(this.turned) < 40) return;
    this.acts.pinch(this.turned > 0 ? 1.4 : 0.7, ...this.place(event));
    this.turned = 0;
  }
}
