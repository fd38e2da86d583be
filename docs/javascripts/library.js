// The library in this page: the playground's worker, started when something is first asked.
"use strict";
(() => {
  const here = document.currentScript && document.currentScript.src;
  const available = Boolean(here) && location.protocol !== "file:" &&
    typeof WebAssembly === "object" && typeof Worker === "function";
  const waiting = new Map();
  let worker, count = 0, tell = () => {};

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
    tell(`Python did not start: ${why}.`);
    for (const resolve of waiting.values()) resolve({ error: "Python did not start", pointer: "" });
    waiting.clear();
  }

  // What is shown for a request, as the playground has them; `told` says what is being loaded.
  function ask(request, told) {
    tell = told || tell;
    if (!worker) launch();
    count += 1;
    return new Promise((resolve) => {
      waiting.set(count, resolve);
      worker.postMessage({ id: count, request });
    });
  }

  globalThis.pycuteLibrary = { available, ask };
})();
