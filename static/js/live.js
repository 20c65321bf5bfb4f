// Live updates of a page. htmx's ws extension connects and swaps; this module makes sure that no event is lost and that
// nothing jumps. A page contains
//   <div hx-ext="ws" ws-connect="/live/episode/<id>/?after=<seq>&amp;audience=watch">
// and each event begins with its seq, so that a reconnected socket requests what follows the last applied event.
// While its socket is open, the element has `data-live`. Code that misses an event dispatches "live:overdue".

const { htmx } = window;

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;
const BANNER_AFTER_MS = 3_000;
const HIDDEN_LONG_MS = 30_000;
const SEQ = /^<!--seq (\d+)-->/;
const COMES_BACK = [1006, 1011, 1012, 1013];
const ENDED = {
  4403: "Live updates stopped because your session ended or your access changed. Reload the page to continue.",
  4404: "Live updates stopped because this was deleted.",
  4429: "Live updates are off because too many pages are open. Close some pages and reload this one.",
};

// ---------------------------------------------------------------- the place in the stream

/** The last seq applied, by stream (`/live/episode/<id>/?audience=watch`), and the newest socket of each. */
const reached = new Map();
const newest = new Map();

function streamOf(address) {
  const url = new URL(address, location.href);
  return `${url.pathname}?${url.searchParams.get("audience")}`;
}

const streamOfElement = (element) => streamOf(element.getAttribute("ws-connect"));

htmx.createWebSocket = (address) => {
  const url = new URL(address);
  const stream = streamOf(address);
  const after = Math.max(Number(url.searchParams.get("after")), reached.get(stream) ?? 0);
  reached.set(stream, after);
  url.searchParams.set("after", after);
  const socket = new WebSocket(url);
  // An element that is replaced closes its socket, which would be an error before the connection is there.
  socket.close = (...reason) => {
    const close = () => WebSocket.prototype.close.apply(socket, reason);
    if (socket.readyState === WebSocket.CONNECTING) socket.addEventListener("open", close, { once: true });
    else close();
  };
  newest.set(stream, socket);
  return socket;
};

htmx.config.wsReconnectDelay = (retries) => {
  const longest = Math.min(FIRST_WAIT_MS * 2 ** retries, LONGEST_WAIT_MS);
  return longest * (0.5 + Math.random() / 2);
};

document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message } = event.detail;
  const seq = SEQ.exec(message);
  const old = seq && Number(seq[1]) <= reached.get(streamOfElement(event.target));
  const pointless = !seq && !document.getElementById(/\sid="([^"]+)"/.exec(message)?.[1]);
  if (old || pointless) event.preventDefault();
  else kept = keep();
});

document.addEventListener("htmx:wsAfterMessage", (event) => {
  const seq = SEQ.exec(event.detail.message);
  if (seq) reached.set(streamOfElement(event.target), Number(seq[1]));
  giveBack(kept);
  kept = null;
  showNewest();
});

/** Small pictures of conversations show what was said last, without moving what was said before. */
function showNewest() {
  for (const list of document.querySelectorAll(".chat[data-size] .messages")) list.scrollTop = list.scrollHeight;
}

showNewest();

// ---------------------------------------------------------------- focus, selection and scroll survive a swap

let kept = null;

/** The position of a node: the nearest ancestor with an id, and the path from there. */
function placeOf(node) {
  const way = [];
  for (let at = node; at?.parentNode; at = at.parentNode) {
    if (at.id) return { id: at.id, way };
    way.unshift([...at.parentNode.childNodes].indexOf(at));
  }
  return null;
}

function nodeAt(place) {
  let node = place && document.getElementById(place.id);
  for (const index of place?.way ?? []) node = node?.childNodes[index];
  return node ?? null;
}

function keep() {
  const focused = document.activeElement === document.body ? null : document.activeElement;
  const selection = getSelection();
  const selected = !selection.isCollapsed && selection.anchorNode && selection.focusNode;
  return {
    focused,
    focusPlace: placeOf(focused),
    range: focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null,
    selected: selected && {
      anchor: selection.anchorNode,
      from: [placeOf(selection.anchorNode), selection.anchorOffset],
      to: [placeOf(selection.focusNode), selection.focusOffset],
    },
    scrolled: [...document.querySelectorAll("main [id]")]
      .filter((element) => element.scrollTop || element.scrollLeft)
      .map((element) => [element, element.scrollLeft, element.scrollTop]),
  };
}

function giveBack(was) {
  if (!was) return;
  for (const [element, left, top] of was.scrolled) {
    if (!element.isConnected) document.getElementById(element.id)?.scrollTo({ left, top, behavior: "instant" });
  }
  if (was.focused && !was.focused.isConnected && document.activeElement === document.body) {
    const now = nodeAt(was.focusPlace);
    now?.focus?.({ preventScroll: true });
    if (was.range && was.range[0] !== null) now?.setSelectionRange?.(...was.range);
  }
  if (was.selected && !was.selected.anchor.isConnected) {
    const [from, to] = [nodeAt(was.selected.from[0]), nodeAt(was.selected.to[0])];
    const lengthOf = (node) => node.nodeValue?.length ?? node.childNodes.length;
    if (from && to && was.selected.from[1] <= lengthOf(from) && was.selected.to[1] <= lengthOf(to)) {
      getSelection().setBaseAndExtent(from, was.selected.from[1], to, was.selected.to[1]);
    }
  }
}

// ---------------------------------------------------------------- lost connections

/** The elements that have a socket: whether it is open, and how to reconnect it. */
const sockets = new Map();
let bannerTimer = null;
let hiddenSince = null;

document.addEventListener("htmx:wsConnecting", (event) => {
  sockets.set(event.target, { ...sockets.get(event.target), open: false });
  delete event.target.dataset.live;
  look();
});

document.addEventListener("htmx:wsOpen", (event) => {
  sockets.set(event.target, { open: true, wrapper: event.detail.socketWrapper });
  event.target.dataset.live = "";
  look();
});

document.addEventListener("htmx:wsClose", (event) => {
  const { event: close, socketWrapper } = event.detail;
  if (close.target !== newest.get(streamOfElement(event.target))) return; // a newer socket has replaced it
  delete event.target.dataset.live;
  if (COMES_BACK.includes(close.code)) sockets.set(event.target, { open: false, wrapper: socketWrapper });
  else sockets.delete(event.target);
  look();
  if (ENDED[close.code]) showBanner("", ENDED[close.code], false);
});

document.addEventListener("htmx:beforeCleanupElement", (event) => {
  sockets.delete(event.target);
  look();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    hiddenSince = Date.now();
    return;
  }
  // After a long sleep a socket may look open although it is dead. A new one costs little and catches up.
  reconnect(hiddenSince !== null && Date.now() - hiddenSince > HIDDEN_LONG_MS);
  hiddenSince = null;
});

addEventListener("online", () => reconnect(false));
document.addEventListener("live:overdue", () => reconnect(true));
addEventListener("pageshow", (event) => event.persisted && reconnect(true));

/** Reconnect the sockets that are not open, or `all`. */
function reconnect(all) {
  for (const [element, socket] of sockets) {
    if (element.isConnected && socket.wrapper && (all || !socket.open)) socket.wrapper.reconnect();
  }
}

/** Show a banner when the connection has been lost for a while, and remove it when the connection is back. */
function look() {
  const lost = [...sockets].some(([element, socket]) => element.isConnected && !socket.open);
  if (!lost) {
    clearTimeout(bannerTimer);
    bannerTimer = null;
    document.getElementById("connection")?.remove();
  } else bannerTimer ??= setTimeout(showLost, BANNER_AFTER_MS);
}

const showLost = () => showBanner("Connection lost.", " Reconnecting. Nothing is lost.", true);

function showBanner(strong, text, retry) {
  document.getElementById("connection")?.remove();
  const banner = document.createElement("div");
  banner.id = "connection";
  banner.className = "banner";
  banner.setAttribute("role", "status");
  const words = document.createElement("span");
  const heading = document.createElement("b");
  heading.textContent = strong;
  words.append(heading, text);
  banner.append(icon("refresh"), words);
  if (retry) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button";
    button.dataset.size = "s";
    button.textContent = "Try now";
    button.addEventListener("click", () => reconnect(false));
    banner.append(button);
  }
  document.getElementById("main").before(banner);
}

function icon(name) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("class", "icon");
  picture.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  const sheet = document.querySelector('use[href*="icons.svg"]')?.getAttribute("href").split("#")[0];
  use.setAttribute("href", `${sheet ?? "/static/icons.svg"}#${name}`);
  picture.append(use);
  return picture;
}
