// The turns of a recorded episode, in chunks of HTML that the server renders. A chunk never changes after the episode has
// ended. While the episode runs, a chunk is fetched again when a turn is missing.

export class Frames {
  /** `address` is the address of the first chunk and ends in `0/`; a chunk has `size` turns; `query` begins with `?`. */
  constructor(address, size, query) {
    this.address = address;
    this.size = size;
    this.query = query;
    this.frames = new Map();
    this.loading = new Map();
  }

  /** The board and the text of a turn as nodes; undefined if the turn is not loaded. */
  get(turn) {
    return this.frames.get(turn);
  }

  /** Fetch the chunk with `turn`, once. */
  load(turn) {
    const chunk = Math.floor(turn / this.size);
    if (!this.loading.has(chunk)) {
      this.loading.set(chunk, this.#fetch(chunk).catch(() => this.loading.delete(chunk)));
    }
    return this.loading.get(chunk);
  }

  /** The turn; its chunk is fetched again if the turn was missing in it. */
  async find(turn) {
    await this.load(turn);
    if (!this.frames.has(turn)) {
      this.loading.delete(Math.floor(turn / this.size));
      await this.load(turn);
    }
    return this.frames.get(turn);
  }

  async #fetch(chunk) {
    const response = await fetch(this.address.replace(/0\/$/, `${chunk}/`) + this.query);
    if (!response.ok) throw new Error(`the turns could not be read: ${response.status}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const frame of page.querySelectorAll("[data-frame]")) {
      const turn = Number(frame.dataset.frame);
      if (this.frames.has(turn)) continue;
      const nodes = (part) => [...frame.querySelector(`[data-part="${part}"]`).children].map((node) => document.adoptNode(node));
      this.frames.set(turn, { total: frame.dataset.total, board: nodes("board"), text: nodes("turn") });
    }
  }
}
