// Python in a worker: it loads Pyodide and the library's wheel from this folder, then answers.
const here = new URL("./", import.meta.url);
const say = (text) => self.postMessage({ loading: text });

async function start() {
  const assets = await (await fetch(new URL("assets.json", here))).json();
  if (!assets.pyodide) throw new Error("this site was built without Pyodide");
  say(`Pyodide ${assets.pyodide}: Python for the browser, 14 MB`);
  const wheel = fetch(new URL(assets.wheel, here)).then((response) => response.arrayBuffer());
  const { loadPyodide } = await import(new URL("pyodide.mjs", here));
  const pyodide = await loadPyodide({ indexURL: here.href });
  say("pycute_xe, from its wheel");
  pyodide.unpackArchive(await wheel, assets.wheel.endsWith(".zip") ? "zip" : "wheel");
  say("pycute_xe, importing");
  pyodide.runPython("import json\nfrom pycute_xe.playground import answer");
  const ask = pyodide.runPython("lambda text: json.dumps(answer(json.loads(text)))");
  return { ask, rest: () => pyodide.runPython("import pycute_xe.playground.atoms") };
}

const started = start();
started.then(
  () => self.postMessage({ ready: true }),
  (error) => self.postMessage({ failed: String(error && error.message) }),
);

self.onmessage = async ({ data }) => {
  const { ask, rest } = await started;
  try {
    self.postMessage({ id: data.id, shown: JSON.parse(ask(JSON.stringify(data.request))) });
  } catch (error) {
    // Such as too deep a text for the browser's stack: Python cannot go on, and is started anew.
    const why = `Python stopped: ${String(error.message).trim().split("\n").pop()}`;
    self.postMessage({ id: data.id, shown: { error: `${why}. Write something simpler.`, pointer: "" }, broken: true });
  }
  setTimeout(rest); // atoms and tilings, which the first layout does not wait for
};
