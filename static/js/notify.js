// A notification of the browser when a job ends, for whoever asks for it by a click and leaves the page open.

const panel = document.getElementById("when-it-ends");
const button = panel?.querySelector("[data-notify]");
const state = panel?.querySelector("[data-notify-state]");
const ended = document.getElementById("ended");
const title = button?.dataset.notify;
let wanted = false;

if (button && ended && "Notification" in window) {
  button.hidden = false;
  button.addEventListener("click", ask);
  new MutationObserver(tell).observe(ended, { childList: true, characterData: true, subtree: true });
}

async function ask() {
  const permission = await Notification.requestPermission();
  wanted = permission === "granted";
  state.textContent = wanted
    ? "This browser will notify you. Keep the page open in a tab."
    : "This browser does not allow notifications from this site. Its settings for this page can change that.";
  button.hidden = wanted;
}

function tell() {
  const text = ended.textContent.trim();
  if (!wanted || !text) return;
  wanted = false;
  const notification = new Notification(title, { body: text, tag: location.pathname });
  notification.addEventListener("click", () => window.focus());
}
