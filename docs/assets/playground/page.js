// The playground's page: fields become a request, a worker answers, and the address keeps the state.
"use strict";
(() => {
  const root = document.getElementById("playground");
  if (!root) return;
  const find = (selector) => root.querySelector(selector);
  const all = (selector) => [...root.querySelectorAll(selector)];
  const status = find("[data-status]");
  const results = find("[data-results]");
  const library = globalThis.pycuteLibrary;
  let asked = 0, shown = null;

  const tell = (text) => { status.textContent = text; };
  const kind = () => find('input[name="kind"]:checked').value;
  const panel = (name) => all("[data-kind]").find((one) => one.dataset.kind === name);

  function request() {
    const fields = [...panel(kind()).querySelectorAll("[name]")].map((f) => [f.name, f.value.trim()]);
    return { kind: kind(), ...Object.fromEntries(fields.filter(([, value]) => value)) };
  }

  function install(why) {
    tell(why);
    find("[data-install]").hidden = false;
    for (const field of all("input, select, button")) field.disabled = true;
  }

  // Names that the fields of atoms offer, written down when the site was built.
  async function offer() {
    const names = await (await fetch(new URL("names.json", library.assets))).json();
    const options = [...names.copies, ...names.mmas].map((value) => element("option", "", { value }));
    find("datalist").replaceChildren(...options);
  }

  async function ask(remember) {
    if (!library.available) return;
    const wanted = request();
    if (remember) history.pushState(null, "", `?${new URLSearchParams(wanted)}`);
    asked += 1;
    const mine = asked;
    results.setAttribute("aria-busy", "true");
    tell("Asked …");
    const answer = await library.ask(wanted, tell);
    if (answer.failed) install(answer.error);
    else if (mine === asked) show(answer);
    if (mine === 1) offer().catch(() => tell("Answered; names are not offered."));
  }

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  // A column of the table and a long listing scroll inside their box, which the keyboard reaches.
  const listing = (text) => element("pre", text, { tabindex: "0" });

  function drawing(svg) {
    const box = element("div", "", { class: "drawing", tabindex: "0", "data-drawing": "" });
    // The page's theme decides, not the system's.
    const themed = svg.replace("@media (prefers-color-scheme:dark){", "[data-md-color-scheme=slate]{");
    box.innerHTML = themed;
    return box;
  }

  function show(answer) {
    shown = answer;
    results.removeAttribute("aria-busy");
    results.replaceChildren();
    if (answer.error) {
      const box = element("div", "", { class: "refused", role: "alert" });
      if (answer.pointer) box.append(listing(answer.pointer));
      box.append(element("p", answer.error));
      results.append(box);
    } else {
      for (const [heading, text] of answer.parts) results.append(element("h3", heading), listing(text));
      if (answer.svg) results.append(element("h3", "Drawing"), drawing(answer.svg));
      for (const [heading, text] of [["Python", answer.python], ["C++", answer.cpp]])
        if (text) results.append(element("h3", heading), listing(text));
    }
    for (const button of all("[data-needs]")) button.disabled = !answer[button.dataset.needs];
    tell(answer.error ? "Refused." : "Answered.");
    root.dataset.answered = String(asked);
  }

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      tell(`${what} copied.`);
    } catch {
      // Without the right to the clipboard the text is selected, to be copied by hand.
      const field = element("textarea", text, { "aria-label": what });
      results.prepend(field);
      field.select();
      tell(`${what}: select and copy.`);
    }
  }

  function save(blob, name) {
    const link = element("a", "", { download: name });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    tell(`${name} saved.`);
  }

  function savePicture() {
    const picture = new Image();
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * picture.width;
      canvas.height = 2 * picture.height;
      const context = canvas.getContext("2d");
      context.fillStyle = "#fff";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "pycute_xe.png"), "image/png");
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(shown.svg)}`;
  }

  const doing = {
    link: () => copy(location.href, "Link"),
    python: () => copy(shown.python, "Python"),
    cpp: () => copy(shown.cpp, "C++"),
    svg: () => save(new Blob([shown.svg], { type: "image/svg+xml" }), "pycute_xe.svg"),
    png: savePicture,
  };

  function choose(name) {
    find(`input[name="kind"][value="${name}"]`).checked = true;
    for (const one of all("[data-kind]")) one.hidden = one.dataset.kind !== name;
  }

  // The address says what is asked: fields that it does not name are empty, choices as usual.
  function read() {
    const given = new URLSearchParams(location.search);
    const name = given.get("kind");
    if (!name || !panel(name)) return choose(kind());
    choose(name);
    for (const field of panel(name).querySelectorAll("[name]")) {
      const choices = [...(field.options || [])], text = given.get(field.name) ?? "";
      if (choices.length && !given.has(field.name)) {
        field.selectedIndex = Math.max(0, choices.findIndex((option) => option.defaultSelected));
        continue;
      }
      // What is not offered is asked all the same: the library says what there is.
      if (choices.length && !choices.some((option) => option.value === text)) field.add(new Option(text));
      field.value = text;
    }
  }

  for (const radio of all('input[name="kind"]'))
    radio.addEventListener("change", () => { choose(radio.value); ask(true); });
  find("form").addEventListener("submit", (event) => { event.preventDefault(); ask(true); });
  for (const button of all("[data-do]")) button.addEventListener("click", () => doing[button.dataset.do]());
  for (const button of all("[data-example]"))
    button.addEventListener("click", () => {
      const field = panel(kind()).querySelector("[name]");
      field.value = button.dataset.example;
      ask(true);
    });
  window.addEventListener("popstate", () => { read(); ask(false); });

  read();
  find("form").hidden = false;
  if (library.available) ask(false);
  else install(library.hindered);
})();
