// Drawings that answer: point at a cell, or step with the arrow keys, and all cells of its
// work-item stay lit in every panel, with a line of words. Works from a file; needs nothing else.
"use strict";
(() => {
  const classOf = (cell) => [...cell.classList].find((name) => /^t\d+$/.test(name));

  function equip(svg) {
    const cells = [...svg.querySelectorAll("g.o")].filter(classOf);
    const owners = [...new Set(cells.map(classOf))].sort((a, b) => a.slice(1) - b.slice(1));
    if (owners.length < 2 || svg.dataset.equipped) return;
    svg.dataset.equipped = "yes";
    const chip = new Map(cells.filter((c) => c.classList.contains("k")).map((c) => [classOf(c), c.textContent.trim()]));
    const line = document.createElement("span");
    line.className = "drawing-owner";
    line.setAttribute("role", "status");
    const box = svg.closest(".drawing") || svg.parentElement;
    const heading = svg.querySelector(".k0") ? svg.querySelector(".k0").textContent : "work-item";
    let kept = "";

    function light(owner) {
      svg.classList.toggle("cx-lit", Boolean(owner));
      for (const cell of cells) cell.classList.toggle("cx-on", classOf(cell) === owner);
      svg.dataset.owner = owner;
      if (!owner) { line.textContent = ""; return; }
      const places = cells.filter((c) => classOf(c) === owner && c.classList.contains("c"));
      const name = `${heading} ${chip.get(owner) || owner.toUpperCase()}`.trim();
      const count = places.reduce((sum, place) => sum + Number(place.dataset.cells || 1), 0);
      const many = count === 1 ? "1 cell" : `${count} cells`;
      line.textContent = `${name}: ${many} of this drawing. Arrow keys: the next; Escape: all.`;
    }

    function step(by) {
      const at = owners.indexOf(svg.dataset.owner);
      kept = owners[at < 0 ? (by > 0 ? 0 : owners.length - 1) : (at + by + owners.length) % owners.length];
      light(kept);
    }

    box.after(line);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointerover", (event) => {
      const cell = event.target.closest("g.o");
      light(cell && classOf(cell) ? classOf(cell) : kept);
    });
    svg.addEventListener("pointerleave", () => light(kept));
    svg.addEventListener("click", (event) => {
      const cell = event.target.closest("g.o");
      kept = cell && classOf(cell) !== kept ? classOf(cell) || "" : "";
      light(kept);
    });
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (by) step(by);
      else if (event.key === "Escape") { kept = ""; light(""); }
      else return;
      event.preventDefault();
    });
  }

  // What scrolls can be reached by the keyboard.
  function reachable() {
    for (const box of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .drawing"))
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.setAttribute("tabindex", "0");
  }
  reachable();
  for (const moment of ["load", "resize"]) window.addEventListener(moment, reachable);

  const all = () => document.querySelectorAll('svg[id^="cx-"]').forEach(equip);
  all();
  // The playground draws later.
  const results = document.querySelector("[data-results]");
  if (results) new MutationObserver(all).observe(results, { childList: true });
})();
