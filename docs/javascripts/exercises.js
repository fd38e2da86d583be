// Exercises of a page: the playground's worker, started at the first check, judges an answer.
"use strict";
(() => {
  const boxes = [...document.querySelectorAll(".exercise")];
  const here = document.currentScript && document.currentScript.src;
  if (!boxes.length || !here || location.protocol === "file:") return;
  if (typeof WebAssembly !== "object" || typeof Worker !== "function") return;
  const note = document.querySelector(".exercise-note");
  const waiting = new Map();
  let worker, count = 0;

  const tell = (text) => { if (note) { note.hidden = !text; note.textContent = text; } };

  function launch() {
    worker = new Worker(new URL("../assets/playground/worker.mjs", here), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.loading) tell(`Loading ${data.loading} …`);
      else if (data.failed) fail(data.failed);
      else if (data.ready) tell("");
      else { waiting.get(data.id)(data.shown); waiting.delete(data.id); }
    };
    worker.onerror = (event) => fail(event.message || "the worker failed");
  }

  function fail(why) {
    tell(`Python did not start (${why}): the answers are in the folds.`);
    for (const resolve of waiting.values()) resolve({ error: "not checked" });
    waiting.clear();
  }

  // What an expression comes to, as text; a refusal throws.
  async function value(text) {
    if (!worker) launch();
    count += 1;
    const shown = await new Promise((resolve) => {
      waiting.set(count, resolve);
      worker.postMessage({ id: count, request: { kind: "expression", text } });
    });
    if (shown.error) throw new Error(shown.error);
    return shown.parts[0][1];
  }

  async function right({ kind, condition }, text) {
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
        verdict.textContent = box.dataset.verdict === "right" ? "✓ Right." : "✗ Not yet: another function.";
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
