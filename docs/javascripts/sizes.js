// Pages of templates: fields choose sizes, the library answers, and the address keeps them.
"use strict";
(() => {
  const root = document.querySelector(".sizes");
  const library = globalThis.pycuteLibrary;
  if (!root || !library || !library.available) return;
  const form = root.querySelector("form");
  const results = root.querySelector("[data-results]");
  const status = root.querySelector("[role=status]");
  const fields = [...form.querySelectorAll("select")];
  const sizes = fields.filter((field) => field.name !== "target");
  let asked = 0;

  const name = () => sizes.reduce((text, field) => text.replace("{}", field.value), root.dataset.name);

  function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function show(shown) {
    results.replaceChildren();
    if (shown.error) { results.append(element("p", shown.error, { class: "refused", role: "alert" })); return; }
    if (shown.svg) {
      const box = element("div", "", { class: "drawing" });
      box.innerHTML = shown.svg.replace("@media (prefers-color-scheme:dark){", "[data-md-color-scheme=slate]{");
      results.append(box);
    }
    const parts = [...shown.parts, ...(shown.cpp ? [["C++", shown.cpp]] : [])];
    for (const [heading, text] of parts) results.append(element("h3", heading), element("pre", text, { tabindex: "0" }));
  }

  async function ask() {
    asked += 1;
    const mine = asked, request = { kind: "atom", name: name(), target: form.querySelector("[name=target]").value };
    root.querySelector("[data-shown]").textContent = request.name;
    const link = root.querySelector("[data-playground]");
    link.href = `${link.href.split("?")[0]}?${new URLSearchParams(request)}`;
    status.textContent = "…";
    const shown = await library.ask(request, (text) => { status.textContent = text; });
    if (mine !== asked) return;
    status.textContent = "";
    show(shown);
    root.dataset.answered = String(mine);
  }

  const given = new URLSearchParams(location.search);
  for (const field of fields) if (given.has(field.name)) field.value = given.get(field.name);
  form.addEventListener("change", () => {
    history.replaceState(null, "", `?${new URLSearchParams(fields.map((f) => [f.name, f.value]))}`);
    ask();
  });
  form.hidden = false;
  if (given.size) ask();
})();
