// The library in this page: the playground's worker, started when something is first asked. What
// takes too long is stopped, and its answer says so; what was asked behind it goes on.
"use strict";
(() => {
  const here = document.currentScript && document.currentScript.src;
  const LIMIT = 20000; // milliseconds that an answer may take before the worker starts anew
  const assets = here && new URL("../assets/playground/", here);
  const waiting = new Map(); // number -> [request, resolve], the first is being answered
  let worker, timer, ready = false, count = 0, tell = () => {};

  // Why nothing can be asked here; nothing where it can.
  const hindered = () => {
    if (typeof WebAssembly !== "object" || typeof Worker !== "function")
      return "This browser has no WebAssembly, in which Python runs here.";
    if (!here || location.protocol === "file:")
      return "A page opened as a file may not start a worker: serve the site, or install the library.";
    return "";
  };

  function launch() {
    clearTimeout(timer);
    ready = false;
    worker = new Worker(new URL("worker.mjs", assets), { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.loading) tell(`Loading ${data.loading} …`);
      else if (data.failed) fail(data.failed);
      else if (data.ready) { ready = true; tell(""); arm(); }
      else if (data.broken) anew(data.id, data.shown);
      else settle(data.id, data.shown);
    };
    worker.onerror = (event) => fail(event.message || "the worker failed");
    for (const [id, [request]] of waiting) worker.postMessage({ id, request });
  }

  function settle(id, shown) {
    const [, resolve] = waiting.get(id);
    waiting.delete(id);
    arm();
    resolve(shown);
  }

  // What Python takes to start, on a slow line or machine, is no part of an answer's time.
  function arm() {
    clearTimeout(timer);
    if (ready && waiting.size) timer = setTimeout(stop, LIMIT);
  }

  function stop() {
    const [id] = waiting.keys();
    anew(id, { error: `no answer within ${LIMIT / 1000} s: ask for something smaller`, pointer: "" });
  }

  // Answer a request by these words, and the others by another worker.
  function anew(id, shown) {
    worker.terminate();
    settle(id, shown);
    launch();
  }

  function fail(why) {
    const error = `Python did not start: ${why}.`;
    tell(error);
    for (const id of [...waiting.keys()]) settle(id, { error, failed: true, pointer: "" });
  }

  // What is shown for a request, as the playground has them; `told` says what is being loaded.
  function ask(request, told) {
    tell = told || tell;
    count += 1;
    const id = count;
    const shown = new Promise((resolve) => { waiting.set(id, [request, resolve]); });
    if (!worker) launch();
    else {
      worker.postMessage({ id, request });
      if (waiting.size === 1) arm();
    }
    return shown;
  }

  globalThis.pycuteLibrary = { available: !hindered(), hindered: hindered(), assets, ask };
})();
