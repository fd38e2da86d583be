// Drawings that answer. Point at a cell, or step: all that its work-item owns stays lit in every
// panel, and one value of it is framed. Works from a file and in a notebook; needs nothing else.
"use strict";
(() => {
  // A cell that several share has several owners; the first is meant where one points at it.
  const ownersOf = (cell) => [...cell.classList].filter((name) => /^t\d+$/.test(name));
  const ownerOf = (cell) => ownersOf(cell)[0];
  const owns = (owner, cell) => cell.classList.contains(owner);
  const number = (text) => Number(text.slice(1));

  function made(name, attributes = {}, text = "") {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  }

  // The places of values: of a whole drawing its cells, of a small one the places that a group lists.
  function framing(svg, cells) {
    const whole = cells.filter((cell) => cell.dataset.value !== undefined);
    const small = cells.filter((cell) => cell.dataset.at);
    const places = (cell) => cell.dataset.at.split(" ").map((place) => place.split(",").map(Number));
    const count = (owner) => {
      const own = (cell) => owns(owner, cell);
      return Math.max(0, ...whole.filter(own).map((c) => Number(c.dataset.value) + 1), ...small.filter(own).map((c) => places(c).length));
    };
    function frame(owner, value) {
      for (const mark of svg.querySelectorAll(".cx-mark")) mark.remove();
      for (const cell of svg.querySelectorAll(".cx-value")) cell.classList.remove("cx-value");
      if (value < 0) return "";
      const own = whole.filter((cell) => owns(owner, cell) && Number(cell.dataset.value) === value);
      for (const cell of own) { cell.classList.add("cx-value"); }
      let words = own.length ? own[0].querySelector("title")?.textContent || "" : "";
      for (const cell of small.filter((one) => owns(owner, one))) {
        const place = places(cell)[value];
        if (!place) continue;
        const [step, top] = [Number(cell.dataset.step), Number(cell.dataset.top)];
        const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        const box = { class: "cx-mark", x: step * place[0] + 1, y: top + step * place[1] + 1, width: step - 2, height: step - 2 };
        for (const [key, text] of Object.entries(box)) mark.setAttribute(key, text);
        svg.append(mark);
        words ||= `V${value} is row ${place[1]}, column ${place[0]}`;
      }
      return words;
    }
    // The value under the pointer: of a whole drawing its cell's, of a small one by the place.
    function under(cell, event) {
      if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
      if (!cell.dataset.at) return -1;
      const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const [step, top] = [Number(cell.dataset.step), Number(cell.dataset.top)];
      const [x, y] = [Math.floor(here.x / step), Math.floor((here.y - top) / step)];
      return places(cell).findIndex((place) => place[0] === x && place[1] === y);
    }
    return { count, frame, under, any: whole.length + small.length > 0 };
  }

  function equip(svg, state = { owner: "", value: -1 }) {
    const cells = [...svg.querySelectorAll("g.o")].filter(ownerOf);
    const owners = [...new Set(cells.flatMap(ownersOf))].sort((a, b) => number(a) - number(b));
    if (owners.length < 2 || svg.dataset.equipped) return null;
    svg.dataset.equipped = "yes";
    const chip = new Map(cells.filter((c) => c.classList.contains("k")).map((c) => [ownerOf(c), c.textContent.trim()]));
    const other = svg.dataset.owners; // what owns, where that is not a work-item
    const heading = other || svg.querySelector(".k0")?.textContent || "work-item";
    const values = framing(svg, cells);
    const line = made("span", { class: "drawing-owner", role: "status" });
    const steps = made("span", { class: "drawing-steps" });
    const box = svg.closest(".drawing") || svg.parentElement;

    function light(owner, value) {
      svg.classList.toggle("cx-lit", Boolean(owner));
      for (const cell of cells) cell.classList.toggle("cx-on", owns(owner, cell));
      svg.dataset.owner = owner;
      const framed = values.frame(owner, owner ? value : -1);
      if (!owner) { line.textContent = ""; return; }
      const places = cells.filter((c) => owns(owner, c) && c.classList.contains("c"));
      const name = `${heading} ${other ? number(owner) : chip.get(owner) || owner.toUpperCase()}`.trim();
      const count = places.reduce((sum, place) => sum + Number(place.dataset.cells || 1), 0);
      const many = count === 1 ? "1 cell" : `${count} cells`;
      line.textContent = `${name}: ${many} of this drawing. ${framed ? `${framed}.` : ""}`;
    }

    const keep = (owner, value) => { state.owner = owner; state.value = value; light(owner, value); };
    const next = (at, by, count) => (at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count);

    function step(by) { keep(owners[next(owners.indexOf(state.owner), by, owners.length)], state.value); }

    function stepValue(by) {
      const owner = state.owner || owners[0];
      const count = values.count(owner);
      if (count) keep(owner, next(state.value, by, count));
    }

    function row(what, act) {
      for (const [by, sign, word] of [[-1, "◀", "previous"], [1, "▶", "next"]]) {
        const button = made("button", { type: "button", "aria-label": `${word} ${what}` }, sign);
        button.addEventListener("click", () => act(by));
        steps.append(button);
        if (by < 0) steps.append(made("span", {}, what));
      }
    }

    row(heading, step);
    if (values.any) row("value", stepValue);
    const all = made("button", { type: "button" }, "all");
    all.addEventListener("click", () => keep("", -1));
    steps.append(all);
    box.after(steps, line);
    svg.setAttribute("tabindex", "0");
    let pointed = "";
    svg.addEventListener("pointermove", (event) => {
      const cell = event.target.closest("g.o");
      const owner = (cell && ownerOf(cell)) || "";
      const value = owner ? values.under(cell, event) : -1;
      if (pointed === `${owner} ${value}`) return;
      pointed = `${owner} ${value}`;
      if (owner) light(owner, value);
      else light(state.owner, state.value);
    });
    svg.addEventListener("pointerleave", () => { pointed = ""; light(state.owner, state.value); });
    svg.addEventListener("click", (event) => {
      const cell = event.target.closest("g.o");
      const owner = cell && ownerOf(cell) !== state.owner ? ownerOf(cell) || "" : "";
      keep(owner, owner ? values.under(cell, event) : -1);
    });
    svg.addEventListener("keydown", (event) => {
      const { key } = event;
      if (key === "ArrowRight" || key === "ArrowLeft") step(key === "ArrowRight" ? 1 : -1);
      else if (key === "ArrowDown" || key === "ArrowUp") (values.any ? stepValue : step)(key === "ArrowDown" ? 1 : -1);
      else if (key === "Escape") keep("", -1);
      else return;
      event.preventDefault();
    });
    light(state.owner, state.value);
    return { state, parts: [steps, line] };
  }

  // The same block by another mode: buttons exchange the drawing, and what is lit stays lit.
  function switchable(group) {
    const box = group.querySelector(".drawing");
    const others = [...group.querySelectorAll("template")];
    if (!others.length || group.dataset.equipped) return;
    group.dataset.equipped = "yes";
    const shown = new Map([[group.dataset.mode, [group.dataset.name, box.innerHTML]]]);
    for (const other of others) shown.set(other.dataset.mode, [other.dataset.name, other.innerHTML]);
    const buttons = made("span", { class: "drawing-switch", role: "group", "aria-label": "mode of the copy" });
    const name = made("code");
    let equipped = equip(box.querySelector("svg"));
    function show(mode) {
      const [title, svg] = shown.get(mode);
      for (const button of buttons.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.textContent === mode));
      name.textContent = title;
      if (group.dataset.mode === mode) return;
      group.dataset.mode = mode;
      if (equipped) for (const part of equipped.parts) part.remove();
      box.innerHTML = svg;
      equipped = equip(box.querySelector("svg"), equipped ? equipped.state : undefined);
    }
    for (const mode of ["N", "T", "V", "packed"].filter((one) => shown.has(one))) {
      const button = made("button", { type: "button" }, mode);
      button.addEventListener("click", () => show(mode));
      buttons.append(button);
    }
    buttons.append(name);
    box.before(buttons);
    show(group.dataset.mode);
  }

  // What scrolls can be reached by the keyboard.
  function reachable() {
    for (const box of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .drawing"))
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.setAttribute("tabindex", "0");
  }

  function all(root) {
    for (const group of root.querySelectorAll(".switched")) switchable(group);
    for (const svg of root.querySelectorAll('svg[id^="cx-"]')) equip(svg);
  }

  globalThis.pycuteFigures = { all };
  reachable();
  for (const moment of ["load", "resize"]) window.addEventListener(moment, reachable);
  all(document);
  // The playground, and pages that ask for sizes, draw later.
  for (const results of document.querySelectorAll("[data-results]"))
    new MutationObserver(() => all(results)).observe(results, { childList: true });
})();
