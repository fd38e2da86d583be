// The gallery's search: words, and what an entry is of; the address keeps what was asked.
"use strict";
(() => {
  const form = document.querySelector(".gallery-search");
  if (!form) return;
  const cards = [...document.querySelectorAll(".gallery > li")];
  const fields = [...form.querySelectorAll("[name]")];
  const count = form.querySelector("[role=status]");
  const asked = new URLSearchParams(location.search);
  for (const field of fields) field.value = asked.get(field.name) ?? "";

  const fits = (card, field) => {
    const wanted = field.value.trim();
    if (!wanted) return true;
    if (field.name !== "q") return (card.dataset[field.name] || "").split(" ").includes(wanted);
    const text = [card.textContent, ...Object.values(card.dataset)].join(" ").toLowerCase();
    return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  };

  function look() {
    let shown = 0;
    for (const card of cards) {
      card.hidden = !fields.every((field) => fits(card, field));
      shown += !card.hidden;
    }
    count.textContent = shown === cards.length ? "" : `${shown} of ${cards.length}`;
  }

  form.addEventListener("input", () => {
    const wanted = new URLSearchParams(fields.filter((f) => f.value.trim()).map((f) => [f.name, f.value.trim()]));
    history.replaceState(null, "", `${wanted.size ? `?${wanted}` : location.pathname}${location.hash}`);
    look();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  look();
})();
