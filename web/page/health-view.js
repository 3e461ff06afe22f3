/** What the server is loading, and what people should know about its model. */

export class HealthView {
  /**
   * @param {HTMLUListElement} loading
   * @param {HTMLElement} aside
   */
  constructor(loading, aside) {
    this.loading = loading;
    this.aside = aside;
  }

  /** @param {import("./health.js").Health} health */
  show({ notice, stages = {} }) {
    const waiting = Object.entries(stages).filter(([, stage]) => stage.state !== "ready");
    this.loading.hidden = waiting.length === 0;
    const lines = waiting.map(([name, { state, progress }]) => {
      const line = document.createElement("li");
      line.textContent = `${name}: ${[state, progress].filter(Boolean).join(", ")}`;
      return line;
    });
    this.loading.replaceChildren(...lines);
    if (notice) this.aside.textContent = notice;
    this.aside.hidden = !this.aside.textContent;
  }
}
