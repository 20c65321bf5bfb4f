// The turns of a recorded episode, as pieces of HTML that the server draws. A piece never changes once the episode has
// ended; of one that is still played it is asked for again when a turn is missing.

export class Frames {
  /** `address` is that of the first piece and ends in `0/`; `size` turns are in each; `query` begins with `?`. */
  constructor(address, size, query) {
    this.address = address;
    this.size = size;
    this.query = query;
    this.frames = new Map();
    this.loading = new Map();
  }

  /** The board and the text of a turn as nodes; undefined if it has not come, or cannot be read. */
  get(turn) {
    return this.frames.get(turn);
  }

  /** Fetch the piece that holds `turn`, once. */
  load(turn) {
    const chunk = Math.floor(turn / this.size);
    if (!this.loading.has(chunk)) {
      this.loading.set(chunk, this.#fetch(chunk).catch(() => this.loading.delete(chunk)));
    }
    return this.loading.get(chunk);
  }

  /** The turn, fetched again if it was not there when its piece was. */
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
