// A code editor over every textarea with data-code: Tab indents, brackets close, Python is coloured. The textarea keeps the
// text, so that what is around it need not know of the editor. Escape, then Tab leaves it; Control+Enter submits its form.

import {
  bracketMatching, classHighlighter, closeBrackets, closeBracketsKeymap, defaultKeymap, drawSelection, EditorState,
  EditorView, highlightActiveLine, highlightCode, highlightSpecialChars, history, historyKeymap, indentOnInput, indentUnit,
  indentWithTab, keymap, lineNumbers, Prec, python, pythonLanguage, syntaxHighlighting,
} from "../vendor/codemirror-6.min.js";

const FENCES = /^\s*```[a-z]*\n([\s\S]*?)\n?```\s*$/;

// Typing over a selection is done here: the browser's own way adds inline styles where lines are joined, which the
// content security policy forbids.
const typesOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    if (event.inputType !== "insertText" || !event.data || empty || event.isComposing) return false;
    event.preventDefault();
    const typed = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    const isDone = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, event.data, typed));
    if (!isDone) view.dispatch(typed());
    return true;
  },
});

function open(textarea) {
  const key = textarea.dataset.draft && `draft:${textarea.dataset.draft}:${textarea.dataset.arg}`;
  const kept = (key && sessionStorage.getItem(key)) || textarea.value;
  const label = document.querySelector(`label[for="${textarea.id}"]`)?.textContent.trim() ?? "Program";
  const submit = () => {
    textarea.form?.requestSubmit();
    return true;
  };
  const told = EditorView.updateListener.of((update) => {
    if (!update.docChanged) return;
    textarea.value = update.state.doc.toString();
    if (key) sessionStorage.setItem(key, textarea.value);
    textarea.dispatchEvent(new Event("input", { bubbles: true }));
  });
  // A program that is pasted with its Markdown fences loses them: the action has its own.
  const unfenced = EditorState.transactionFilter.of((transaction) => {
    if (!transaction.isUserEvent("input.paste")) return transaction;
    const whole = transaction.newDoc.toString();
    const inner = FENCES.exec(whole);
    if (!inner) return transaction;
    return { changes: { from: 0, to: transaction.startState.doc.length, insert: inner[1] }, selection: { anchor: inner[1].length } };
  });
  const host = document.createElement("div");
  host.className = "code-editor";
  textarea.before(host);
  textarea.hidden = true;
  textarea.required = false;
  textarea.value = kept;
  const view = new EditorView({
    parent: host,
    state: EditorState.create({
      doc: kept,
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: submit }])),
        lineNumbers(), highlightSpecialChars(), history(), drawSelection(), highlightActiveLine(), indentOnInput(),
        indentUnit.of("    "), bracketMatching(), closeBrackets(), python(), syntaxHighlighting(classHighlighter),
        EditorView.lineWrapping, EditorView.contentAttributes.of({ "aria-label": label }), told, unfenced, typesOver,
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
      ],
    }),
  });
  textarea.addEventListener("code:set", ({ detail }) => {
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: detail } });
  });
  return view;
}

for (const textarea of document.querySelectorAll("textarea[data-code]")) open(textarea);

// ---------------------------------------------------------------- programs that are only shown

function colour(element) {
  const code = element.textContent;
  const pieces = [];
  const put = (text, classes) => {
    if (!classes) return pieces.push(text);
    const span = document.createElement("span");
    span.className = classes;
    span.textContent = text;
    return pieces.push(span);
  };
  highlightCode(code, pythonLanguage.parser.parse(code), classHighlighter, put, () => pieces.push("\n"));
  element.replaceChildren(...pieces);
  element.dataset.highlight = "done";
}

function colourAll() {
  for (const element of document.querySelectorAll('[data-highlight]:not([data-highlight="done"])')) colour(element);
}

colourAll();
for (const name of ["htmx:wsAfterMessage", "htmx:afterSettle"]) document.addEventListener(name, colourAll);
