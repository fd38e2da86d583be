// Exercises of a page: the library, started at the first check, judges an answer.
"use strict";
(() => {
  const boxes = [...document.querySelectorAll(".exercise")];
  const library = globalThis.pycuteLibrary;
  if (!boxes.length || !library || !library.available) return;
  const note = document.querySelector(".exercise-note");
  const tell = (text) => { if (note) { note.hidden = !text; note.textContent = text; } };

  // What a request comes to, as text; a refusal throws.
  async function first(request) {
    const shown = await library.ask(request, tell);
    if (shown.error) throw new Error(shown.error);
    return shown.parts[0][1];
  }

  const value = (text) => first({ kind: "expression", text });

  // A condition of another kind is a request with ? for the answer, and what must then be shown.
  async function asked(condition, text) {
    const [fields, wanted] = condition.split(" => ");
    const request = Object.fromEntries(new URLSearchParams(fields));
    for (const [key, given] of Object.entries(request)) request[key] = given.replace("?", () => text);
    const shown = await first(request);
    return wanted.split(" & ").every((words) => shown.includes(words));
  }

  async function right({ kind, condition }, text) {
    if (kind === "asks") return asked(condition, text);
    if (kind === "holds") return (await value(condition.replace("?", () => text))) === "True";
    const [given, wanted] = await Promise.all([value(text), value(condition)]);
    return given === wanted;
  }

  for (const box of boxes) {
    const [form, field, button] = [".exercise-form", "input", "button"].map((s) => box.querySelector(s));
    const verdict = form.querySelector("[role=status]");
    async function check() {
      const text = field.value.trim();
      if (!text) return;
      verdict.textContent = "…";
      try {
        box.dataset.verdict = (await right(box.dataset, text)) ? "right" : "wrong";
        const other = box.dataset.kind === "same" ? "another function" : "that is not it";
        verdict.textContent = box.dataset.verdict === "right" ? "✓ Right." : `✗ Not yet: ${other}.`;
      } catch (error) {
        box.dataset.verdict = "refused";
        verdict.textContent = error.message;
      }
    }
    form.hidden = false;
    button.addEventListener("click", check);
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") check(); });
  }
})();
