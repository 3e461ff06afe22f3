/** How the conversation goes, as steps that a person sees: answers are asked for, heard, and come to an end. */

export class Course {
  /**
   * @param {import("./hooks.js").Hooks} hooks
   * @param {import("./playback.js").Playback} playback
   * @param {import("./answers.js").Answers} answers
   */
  constructor(hooks, playback, answers) {
    this.hooks = hooks;
    this.playback = playback;
    this.answers = answers;
  }

  /** After `answers` has had it. @param {import("./protocol.js").ServerEvent} event */
  receive({ type }) {
    if (type === "response.created") this.hooks.step("asked");
    if (type === "response.done") this.quiet();
  }

  /** The user can be heard; what went on before that could not be seen. */
  ready() {
    this.hooks.step("ready");
    if (this.answers.active) this.hooks.step("asked");
    if (this.playback.sounding) this.hooks.step("sounding");
  }

  sounding() {
    this.hooks.guard.playbackBegan(performance.now());
    this.hooks.step("sounding");
  }

  /** One of the two has ended: the answer, or its sound. */
  quiet() {
    if (!this.answers.active && !this.playback.sounding) this.hooks.step("quiet");
  }
}
