// A field that filters a list of check boxes below it: <input data-pick="id of the list">. What is ticked stays shown.

for (const field of document.querySelectorAll("[data-pick]")) {
  const list = document.getElementById(field.dataset.pick);
  const none = document.getElementById(`${field.dataset.pick}-none`);
  field.addEventListener("input", (event) => {
    event.stopPropagation(); // the filter changes nothing about the form
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of list.querySelectorAll("label")) {
      const fits = words.every((word) => item.textContent.toLowerCase().includes(word));
      item.hidden = !fits && !item.querySelector("input").checked;
      shown += !item.hidden;
    }
    none.hidden = shown > 0;
  });
  field.addEventListener("change", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // not yet to submit
  });
}
